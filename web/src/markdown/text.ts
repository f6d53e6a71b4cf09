import { catalogue } from "../i18n/catalogue.ts";

/** Texts around code. */
export const useText = catalogue({
  en: { copyCode: "Copy code", code: "Code {language}" },
  "zh-CN": { copyCode: "复制代码", code: "代码 {language}" },
});
