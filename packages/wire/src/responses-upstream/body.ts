import { isObject, nonEmptyString, parseJson, type JsonObject } from "../json.ts";
import { extractReplyError, isErrorValue } from "../mapping/upstream-error.ts";
import { ReplyBody, type ReplyBodyOptions } from "../reply-body.ts";
import { getTerminalEventType } from "./terminal-event.ts";

/** An event from a Responses upstream. Only its `type` is validated. */
export type UpstreamResponseEvent = JsonObject & { type: string };

/** Decodes the body of a Responses upstream's reply. A complete (JSON) reply results in its terminal event. */
export class ResponsesBody extends ReplyBody<UpstreamResponseEvent> {
  constructor(options: ReplyBodyOptions<UpstreamResponseEvent>) {
    const { redact = (input) => input } = options;
    super(options, {
      onEvent({ data, event }, out) {
        if (data === "") return false;
        const text = data.trim();
        if (text === "" || text === "[DONE]" || text === "DONE") return false;
        const value = parseJson(text);
        if (!isObject(value)) {
          options.repairs.add("event_not_json", text);
          return false;
        }
        const type = nonEmptyString(value["type"]);
        if (type !== undefined) {
          const redacted = redact(value as UpstreamResponseEvent);
          out.push(redacted);
          // The strings are compared last, because that is the slowest check.
          return options.passthrough === true && redacted === value && event === type;
        }
        // Some servers send the event type only in the `event:` line.
        const isError =
          event === undefined && (isErrorValue(value["error"]) || isErrorEvent(value));
        out.push(redact({ ...value, type: isError ? "error" : (event ?? "unknown") }));
        return false;
      },
      onCompleteReply: (reply, out) => void out.push(toTerminalEvent(reply)),
      onError: (error, out) => void out.push({ type: "error", error }),
    });
  }
}

/** Converts a complete reply into the equivalent terminal event. */
export function toTerminalEvent(reply: JsonObject): UpstreamResponseEvent {
  if (!isObject(reply))
    return { type: "error", error: "the upstream's reply is not a JSON object" };
  const status = nonEmptyString(reply["status"]);
  if (!Array.isArray(reply["output"]) && status === undefined)
    return { type: "error", error: extractReplyError(reply) };
  const type = getTerminalEventType(reply);
  if (type !== undefined) return { type, response: reply };
  const error = {
    code: "upstream_response_unfinished",
    message: `the upstream returned an unfinished response (status "${status}")`,
  };
  return { type: "response.failed", response: { ...reply, error } };
}

/** True for the error object that vLLM sends instead of an event. */
function isErrorEvent(value: JsonObject): boolean {
  return value["object"] === "error" || isErrorValue(value["detail"]);
}
