import { catalogue } from "../../i18n/catalogue.ts";

/** Texts of the log-in and set-up pages. */
export const useText = catalogue({
  en: {
    title: "Log in",
    setup: "Set up",
    setupText:
      "Nobody has a password yet. Open the link that the coordinator printed when it started, or make a new one on its device:",
    name: "Name",
    password: "Password",
    logIn: "Log in",
    or: "or",
    oidc: "Log in with {label}",
    code: "One-time code",
    codeHint: "From “yao web” or from the coordinator's first start.",
    useCode: "Log in with the code",
    withCode: "I have a one-time code",
    checking: "Logging in…",
    codeFailed: "This code did not work: {reason}",
  },
  "zh-CN": {
    title: "登录",
    setup: "初始设置",
    setupText: "还没有任何账户设置密码。请打开协调器启动时打印的链接，或在其所在设备上生成新的链接：",
    name: "用户名",
    password: "密码",
    logIn: "登录",
    or: "或",
    oidc: "使用 {label} 登录",
    code: "一次性代码",
    codeHint: "来自 “yao web” 或协调器首次启动时的输出。",
    useCode: "使用代码登录",
    withCode: "我有一次性代码",
    checking: "正在登录…",
    codeFailed: "此代码无效：{reason}",
  },
});
