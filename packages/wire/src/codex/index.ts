export {
  assembleChatRequest,
  chatPath,
  chatTools,
  type AssembledChatRequest,
  type ChatPrompt,
  type CodexChatCall,
  type CodexChatMessage,
  type CodexChatTool,
  type SessionSource,
} from "./request.ts";
export { chatStream, type ChatStreamOptions } from "./stream.ts";
export { ChatStreamParser } from "./parser.ts";
export { aggregate, aggregateMode, type AggregateMode } from "./aggregate.ts";
export type {
  CodexEvent,
  CodexFunctionCall,
  CodexItem,
  CodexMessage,
  CodexMessagePart,
  CodexReasoning,
} from "./events.ts";
export { parseModelProvider, type ModelProvider } from "./provider.ts";
export { checkCodexConfig, type CheckedCodexConfig } from "./config.ts";
