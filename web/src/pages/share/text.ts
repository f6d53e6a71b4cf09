import { catalogue } from "../../i18n/catalogue.ts";

/** Texts of the page behind a shared link. */
export const useText = catalogue({
  en: {
    shared: "Shared",
    gone: "This link does not work",
    goneText: "It was revoked, it has expired, or the address is not whole.",
    task: "Shared task, read only",
    agent: "Shared task agent",
    said: "What was said",
    nothing: "Nothing was said yet",
    you: "Person",
    assistant: "Assistant",
    tool: "Used a tool: {name}",
    ask: "Ask it",
    send: "Send",
    working: "Working on it…",
    answer: "Answer",
    failed: "It did not work: {reason}",
  },
  "zh-CN": {
    shared: "分享",
    gone: "此链接无效",
    goneText: "它已被撤销、已过期，或地址不完整。",
    task: "分享的任务，只读",
    agent: "分享的任务智能体",
    said: "对话内容",
    nothing: "还没有对话",
    you: "用户",
    assistant: "助手",
    tool: "使用了工具：{name}",
    ask: "向它提问",
    send: "发送",
    working: "正在处理…",
    answer: "回答",
    failed: "未能完成：{reason}",
  },
});
