import { defineMessages } from "../messages/define-messages.ts";

export const markdownMessages = defineMessages({
  en: {
    code: "Code",
    codeIn: (language: string) => `Code: ${language}`,
    copy: "Copy",
    copied: "Copied",
    cannotCopy: "Could not copy",
    wrap: "Wrap",
    table: "Table",
    done: "done",
    notDone: "not done",
    details: "Details",
    footnote: (label: string) => `Footnote ${label}`,
    back: "Back to text",
  },
  zh: {
    code: "代码",
    codeIn: (language: string) => `代码：${language}`,
    copy: "复制",
    copied: "已复制",
    cannotCopy: "复制失败",
    wrap: "换行",
    table: "表格",
    done: "已完成",
    notDone: "未完成",
    details: "详情",
    footnote: (label: string) => `脚注 ${label}`,
    back: "返回正文",
  },
});
