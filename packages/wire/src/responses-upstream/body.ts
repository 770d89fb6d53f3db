import { isObject, nonEmptyString, parseJson, type JsonObject } from "../json.ts";
import { errorOfReply, reportsError } from "../mapping/upstream-error.ts";
import { ReplyBody, type ReplyBodyOptions } from "../reply-body.ts";
import { terminalType } from "./terminal.ts";

/** An event of a Responses upstream, as it came: only its `type` is sure. */
export type ResponsesInput = JsonObject & { type: string };

/** The body of a Responses upstream's reply. A whole reply comes out as its terminal event. */
export class ResponsesBody extends ReplyBody<ResponsesInput> {
  constructor(options: ReplyBodyOptions<ResponsesInput>) {
    const { redact = (input) => input } = options;
    super(options, {
      event({ data, event }, out) {
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
          const redacted = redact(value as ResponsesInput);
          out.push(redacted);
          return options.relay === true && redacted === value && event === type; // comparing the names takes time
        }
        // Some servers name the event in the event line only.
        const fails = event === undefined && (reportsError(value["error"]) || isErrorObject(value));
        out.push(redact({ ...value, type: fails ? "error" : (event ?? "unknown") }));
        return false;
      },
      whole: (reply, out) => void out.push(eventOfWholeReply(reply)),
      error: (error, out) => void out.push({ type: "error", error }),
    });
  }
}

/** A complete reply as the terminal event with the same meaning. */
export function eventOfWholeReply(reply: JsonObject): ResponsesInput {
  if (!isObject(reply)) return { type: "error", error: "the upstream's reply is no JSON object" };
  const status = nonEmptyString(reply["status"]);
  if (!Array.isArray(reply["output"]) && status === undefined)
    return { type: "error", error: errorOfReply(reply) };
  const type = terminalType(reply);
  if (type !== undefined) return { type, response: reply };
  const error = {
    code: "upstream_response_unfinished",
    message: `the upstream answered with a response that is not finished (status "${status}")`,
  };
  return { type: "response.failed", response: { ...reply, error } };
}

/** vLLM's error, where an event should be. */
function isErrorObject(value: JsonObject): boolean {
  return value["object"] === "error" || reportsError(value["detail"]);
}
