import type { MessagesRequest } from "../shapes/messages-request.ts";

/** Returns the ids of all calls in the history, which new calls must not use. */
export function collectCallIds({ messages }: MessagesRequest): string[] {
  return messages.flatMap(({ content }) =>
    typeof content === "string"
      ? []
      : content.flatMap(({ type, id }) => (type === "tool_use" && id !== undefined ? [id] : [])),
  );
}
