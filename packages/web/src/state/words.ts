import { decisionInWords, decisionWords } from "../texts/decisions-in-words.ts";
import { defineWords } from "../words/words.ts";

export const stateWords = defineWords({
  en: {
    unreachable: "The gateway cannot be reached. Try it again in a moment.",
    conflict: "The chat has changed meanwhile. Look at it again, then decide.",
    noModel:
      "There is no model that could answer. Choose one below the message; if none is offered, add an upstream to the configuration (see Upstreams).",
    undo: "Undo",
    chatDeleted: (title: string) => (title === "" ? "Chat deleted" : `Deleted: ${title}`),
    nodeDeleted: "Deleted from the chat",
    versionDeleted: "Version deleted",
    decidedElsewhere: (tool: string, decision: string) =>
      `Already decided elsewhere: ${decisionInWords(decision, decisionWords.en)}${tool === "" ? "" : ` (${tool})`}`,
    fileFailed: (name: string, why: string) => `${name} was not uploaded: ${why}`,
    draftNotKept:
      "What you are writing is too much for the browser to keep: send it before you leave or reload the page.",
  },
  zh: {
    unreachable: "无法连接到网关，请稍后重试。",
    conflict: "对话已在别处更改，请查看后再决定。",
    noModel:
      "没有可以回答的模型。请在输入框下方选择；如果没有可选的模型，请在网关配置中添加上游（见“上游”页面）。",
    undo: "撤销",
    chatDeleted: (title: string) => (title === "" ? "对话已删除" : `已删除：${title}`),
    nodeDeleted: "已从对话中删除",
    versionDeleted: "版本已删除",
    decidedElsewhere: (tool: string, decision: string) =>
      `已在别处决定：${decisionInWords(decision, decisionWords.zh)}${tool === "" ? "" : `（${tool}）`}`,
    fileFailed: (name: string, why: string) => `${name} 未能上传：${why}`,
    draftNotKept: "草稿太长，浏览器无法保存：请在离开或刷新页面前发送。",
  },
});

export type StateWords = (typeof stateWords)["en"];
