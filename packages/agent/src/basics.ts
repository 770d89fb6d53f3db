/*
 * The exports that a program needs before it runs a task: redaction, defaults and errors. Loading them does not load the
 * runtime, the tools and the chats.
 */
export { defaultLimits } from "./agent.ts";
export { ChatError } from "./chats/chat-error.ts";
export { StoreClock } from "./cluster/store-clock.ts";
export { runTimeSliced } from "./event-loop.ts";
export { ModelError } from "./model.ts";
export { PrivacyError } from "./privacy/privacy-error.ts";
export { Redactor } from "./redaction/redactor.ts";
export {
  createChatReplyRedactor,
  createMessagesReplyRedactor,
  createResponsesReplyRedactor,
  redactError,
  redactErrorText,
} from "./redaction/redact-upstream-reply.ts";
export { findSecretValues, findUrlSecrets } from "./redaction/secret-values.ts";
export { RuntimeError } from "./runtime-error.ts";
export { calculateUsage } from "./task/usage.ts";
export { isTimeZone } from "./time-zone.ts";
export { findAllowlistEntryProblem } from "./tool-groups/command-allowlist.ts";
export { shellDefaults, webDefaults } from "./tool-groups/defaults.ts";
export { fetchPublicUrl } from "./tool-groups/fetch-public-url.ts";
