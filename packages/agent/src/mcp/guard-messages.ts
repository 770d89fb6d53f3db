import {
  isJSONRPCNotification,
  isJSONRPCRequest,
  isJSONRPCResultResponse,
  type JSONRPCMessage,
  type Transport,
} from "@modelcontextprotocol/client";
import { maxParts, maxTools } from "./limits.ts";

/** What a server may send by itself in a second; more is dropped. */
const maxNotifications = 1000;
const maxRequests = 50;
const windowMs = 1000;

/**
 * Stands between a transport and its client, which must be connected. Bounds lists before the client validates them,
 * drops floods, and delivers a result after the progress that came before it: the client handles notifications a moment
 * later than results, and progress of a call that has ended not at all.
 */
export function guardMessages(transport: Transport): void {
  const { onmessage } = transport;
  let windowStart = 0;
  let notifications = 0;
  let requests = 0;
  const guarded: Transport["onmessage"] = (message, extra) => {
    const deliver = (): void => onmessage?.(bounded(message), extra);
    const isNotification = isJSONRPCNotification(message);
    if (!isNotification && !isJSONRPCRequest(message)) {
      queueMicrotask(deliver);
      return;
    }
    const now = performance.now();
    if (now - windowStart > windowMs) {
      windowStart = now;
      notifications = 0;
      requests = 0;
    }
    if (isNotification ? (notifications += 1) <= maxNotifications : (requests += 1) <= maxRequests)
      deliver();
  };
  Object.assign(transport, { onmessage: guarded });
}

function bounded(message: JSONRPCMessage): JSONRPCMessage {
  if (!isJSONRPCResultResponse(message)) return message;
  const { content, tools } = message.result as { content?: unknown; tools?: unknown };
  if (Array.isArray(content) && content.length > maxParts) {
    const more = content.length - maxParts;
    const text = `(${more} more parts were left out: a result has ${maxParts} at the most)`;
    const parts = [...(content.slice(0, maxParts) as unknown[]), { type: "text", text }];
    return { ...message, result: { ...message.result, content: parts } };
  }
  // One more tells that there are more.
  if (Array.isArray(tools) && tools.length > maxTools)
    return { ...message, result: { ...message.result, tools: tools.slice(0, maxTools + 1) } };
  return message;
}
