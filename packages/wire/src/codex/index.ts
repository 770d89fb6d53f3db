export {
  assembleChatRequest,
  getRequestPath,
  toChatTools,
  type AssembledChatRequest,
  type ChatPrompt,
  type CodexChatCall,
  type CodexChatMessage,
  type CodexChatTool,
  type SessionSource,
} from "./chat-request.ts";
export { createChatStream, type ChatStreamOptions } from "./chat-stream.ts";
export { ChatStreamParser } from "./chat-stream-parser.ts";
export { createAggregator, getAggregateMode, type AggregateMode } from "./aggregate.ts";
export type {
  CodexEvent,
  CodexFunctionCall,
  CodexItem,
  CodexMessage,
  CodexMessagePart,
  CodexReasoning,
} from "./events.ts";
export { parseModelProvider, type ModelProvider } from "./model-provider.ts";
export { validateCodexConfig, type ValidatedCodexConfig } from "./config.ts";
