export {
  assembleChatRequest,
  type AssembledChatRequest,
  type ChatPrompt,
  type CodexChatCall,
  type CodexChatMessage,
  type SessionSource,
} from "./request.ts";
export { chatTools, type CodexChatTool } from "./tools.ts";
export { chatPath } from "./path.ts";
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
