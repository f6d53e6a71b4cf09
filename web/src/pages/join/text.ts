import { catalogue } from "../../i18n/catalogue.ts";

/** Texts of the page behind an invitation. */
export const useText = catalogue({
  en: {
    title: "Join",
    code: "Invitation code",
    next: "Continue",
    invites: "You are invited to the workspace {workspace} as {role}.",
    owner: "owner",
    member: "member",
    viewer: "viewer",
    asYou: "Join as {name}",
    newAccount: "Make an account",
    name: "Name to log in with",
    displayName: "Name that others see",
    password: "Password",
    passwordHint: "At least 10 characters.",
    join: "Join",
    haveAccount: "I have an account already",
  },
  "zh-CN": {
    title: "加入",
    code: "邀请码",
    next: "继续",
    invites: "您受邀以{role}身份加入工作区 {workspace}。",
    owner: "所有者",
    member: "成员",
    viewer: "查看者",
    asYou: "以 {name} 的身份加入",
    newAccount: "创建账户",
    name: "登录名",
    displayName: "显示名称",
    password: "密码",
    passwordHint: "至少 10 个字符。",
    join: "加入",
    haveAccount: "我已有账户",
  },
});
