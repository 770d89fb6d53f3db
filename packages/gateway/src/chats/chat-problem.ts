import type { ChatError } from "@deltawire/agent";
import { Problem } from "../problem.ts";

/** What chats refused, as a client is told of it. */
export function chatProblem(error: ChatError): Problem {
  const { code, message, current, param } = error;
  const beginsWithPath = code === "bad_value" || code === "bad_import";
  return new Problem(code, message, {
    param: param ?? (beginsWithPath ? /^([\w.[\]]+): /.exec(message)?.[1] : undefined),
    ...(current && { beside: { revision: current.chat.revision, stamp: current.stamp } }),
    cause: error,
  });
}
