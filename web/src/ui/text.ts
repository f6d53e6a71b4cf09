import { catalogue } from "../i18n/catalogue.ts";

/** Texts of the primitives. */
export const useText = catalogue({
  en: {
    close: "Close",
    cancel: "Cancel",
    save: "Save",
    retry: "Try again",
    loading: "Loading…",
    copy: "Copy",
    copied: "Copied",
    dismiss: "Dismiss",
    undo: "Undo",
    failed: "This did not work",
    request: "Request {id}",
    optional: "optional",
    noAnswer: "The server cannot be reached. Check the connection and try again.",
    more: "More",
    notices: "Notices",
  },
  "zh-CN": {
    close: "关闭",
    cancel: "取消",
    save: "保存",
    retry: "重试",
    loading: "正在加载…",
    copy: "复制",
    copied: "已复制",
    dismiss: "关闭提示",
    undo: "撤销",
    failed: "操作失败",
    request: "请求 {id}",
    optional: "可选",
    noAnswer: "无法连接服务器。请检查网络后重试。",
    more: "更多",
    notices: "通知",
  },
});
