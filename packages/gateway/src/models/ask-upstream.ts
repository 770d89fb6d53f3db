import { describeJsonLimit, findExceededJsonLimit } from "@deltawire/wire";
import { parseJson } from "../json.ts";
import type { Upstream } from "../relay/upstream.ts";

const timeLimitMs = 10_000;
/** OpenRouter's list of 350 models has 0.7 MB and 30,000 JSON values. */
const mostBytes = 8 * 1024 * 1024;

/** The body of `GET {base_url}/models`, parsed. */
export function askForModels(upstream: Upstream): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const pieces: Buffer[] = [];
    let size = 0;
    let answered = 0;
    let timer: NodeJS.Timeout | undefined;
    upstream.dispatch(
      { method: "GET", path: "/models", headers: { accept: "application/json" }, body: null },
      {
        onRequestStart(controller) {
          timer = setTimeout(() => controller.abort(new Error("no answer in time")), timeLimitMs);
        },
        onResponseStart(_controller, status) {
          answered = status;
        },
        onResponseData(controller, bytes) {
          size += bytes.length;
          if (size > mostBytes)
            controller.abort(new Error(`the list of models has more than ${mostBytes} bytes`));
          else pieces.push(bytes);
        },
        onResponseEnd() {
          clearTimeout(timer);
          try {
            if (answered !== 200) throw new Error(`it answered ${answered}`);
            const bytes = Buffer.concat(pieces);
            const exceeded = findExceededJsonLimit(bytes);
            if (exceeded !== undefined)
              throw new Error(`the list of models ${describeJsonLimit(exceeded)}`);
            const list = parseJson(bytes.toString("utf8"));
            // Without the parser's message, which quotes a part of the body and perhaps a part of a key.
            if (list === undefined) throw new Error("the list of models is not JSON");
            resolve(list);
          } catch (error) {
            reject(error);
          }
        },
        onResponseError(_controller, error) {
          clearTimeout(timer);
          reject(error);
        },
      },
    );
  });
}
