import { formatDecision, decisionMessages } from "../text/decision-messages.ts";
import { gatewayErrorMessages } from "../text/gateway-error-translations.ts";
import { defineMessages } from "../messages/define-messages.ts";

export const stateMessages = defineMessages({
  en: {
    unreachable: "The gateway cannot be reached. Try again in a moment.",
    conflict: "The chat has changed in the meantime. Check it, then try again.",
    noModel:
      "No model is available to answer. Choose one below the message box; if there is none, add an upstream to the configuration (see Upstreams).",
    undo: "Undo",
    chatDeleted: (title: string) => (title === "" ? "Chat deleted" : `Deleted: ${title}`),
    nodeDeleted: "Deleted from the chat",
    versionDeleted: "Version deleted",
    decidedElsewhere: (tool: string, decision: string) =>
      `Already ${formatDecision(decision, decisionMessages.en)}${tool === "" ? "" : ` (${tool})`}`,
    uploadFailed: (name: string, reason: string) => `Could not upload ${name}: ${reason}`,
    formatGatewayError: gatewayErrorMessages.en.formatError,
    draftNotSaved:
      "Your draft is too long for the browser to save. Send it before you leave or reload the page.",
  },
  zh: {
    unreachable: "无法连接到网关，请稍后重试。",
    conflict: "对话已有更改，请查看后再试。",
    noModel:
      "没有可用的模型。请在输入框下方选择；如果没有可选的模型，请在网关配置中添加上游（见“上游”页面）。",
    undo: "撤销",
    chatDeleted: (title: string) => (title === "" ? "对话已删除" : `已删除：${title}`),
    nodeDeleted: "已从对话中删除",
    versionDeleted: "版本已删除",
    decidedElsewhere: (tool: string, decision: string) =>
      `已有决定：${formatDecision(decision, decisionMessages.zh)}${tool === "" ? "" : `（${tool}）`}`,
    uploadFailed: (name: string, reason: string) => `无法上传 ${name}：${reason}`,
    formatGatewayError: gatewayErrorMessages.zh.formatError,
    draftNotSaved: "草稿太长，浏览器无法保存。请在离开或刷新页面前发送。",
  },
});

export type StateMessages = (typeof stateMessages)["en"];
