import {
  isJSONRPCNotification,
  isJSONRPCRequest,
  isJSONRPCResultResponse,
  type JSONRPCMessage,
  type Transport,
} from "@modelcontextprotocol/client";
import { maxParts, maxTools } from "./limits.ts";

/** Notifications and requests that a server may send per `windowMs`; further ones are dropped. */
const maxNotifications = 1000;
const maxRequests = 50;
const windowMs = 1000;

/**
 * Filters the messages between a transport and its client, which must be connected. Truncates lists before the client
 * validates them, and drops messages above the rate limits. Delays results, so that progress that was received earlier is
 * handled first: the client handles notifications later than results, and ignores progress of a call that has ended.
 */
export function guardMessages(transport: Transport): void {
  const { onmessage } = transport;
  let windowStart = 0;
  let notificationCount = 0;
  let requestCount = 0;
  const onGuardedMessage: Transport["onmessage"] = (message, extra) => {
    const deliver = (): void => onmessage?.(truncateLists(message), extra);
    const isNotification = isJSONRPCNotification(message);
    if (!isNotification && !isJSONRPCRequest(message)) {
      queueMicrotask(deliver);
      return;
    }
    const now = performance.now();
    if (now - windowStart > windowMs) {
      windowStart = now;
      notificationCount = 0;
      requestCount = 0;
    }
    if (
      isNotification
        ? (notificationCount += 1) <= maxNotifications
        : (requestCount += 1) <= maxRequests
    )
      deliver();
  };
  Object.assign(transport, { onmessage: onGuardedMessage });
}

function truncateLists(message: JSONRPCMessage): JSONRPCMessage {
  if (!isJSONRPCResultResponse(message)) return message;
  const { content, tools } = message.result as { content?: unknown; tools?: unknown };
  if (Array.isArray(content) && content.length > maxParts) {
    const omittedCount = content.length - maxParts;
    const text = `(${omittedCount} more parts omitted; the limit is ${maxParts} parts per result)`;
    const parts = [...(content.slice(0, maxParts) as unknown[]), { type: "text", text }];
    return { ...message, result: { ...message.result, content: parts } };
  }
  // One more than the limit, so that the session notices the truncation.
  if (Array.isArray(tools) && tools.length > maxTools)
    return { ...message, result: { ...message.result, tools: tools.slice(0, maxTools + 1) } };
  return message;
}
