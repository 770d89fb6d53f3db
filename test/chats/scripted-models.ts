import { setImmediate } from "node:timers/promises";
import type { Model, ModelError } from "@deltawire/agent";
import type { JsonObject } from "@deltawire/wire";

/** One step of the output of a scripted model. */
type ReplyStep =
  /** The strings of an array are sent as separate chunks. */
  | { text: string | readonly string[] }
  | { reasoning: string; encrypted?: string }
  | { call: string; args: unknown; id?: string }
  /** An image in base64. */
  | { image: string }
  /** The server rejects the request with this error. */
  | { error: ModelError }
  /** The reply fails after it has started. */
  | { failed: { code: string; message: string } }
  /** The reply pauses until this resolves. */
  | { wait: Promise<unknown> };

export type ModelScript =
  | readonly (readonly ReplyStep[])[]
  | ((request: ScriptedRequest, round: number) => readonly ReplyStep[]);

/** A parsed request. */
export interface ScriptedRequest {
  readonly model: string;
  readonly instructions?: string;
  readonly input: readonly RequestItem[];
  readonly tools?: readonly { readonly name: string; readonly description: string }[];
  readonly [parameter: string]: unknown;
}

interface RequestItem {
  readonly type: string;
  readonly role?: string;
  readonly content?: readonly RequestPart[];
  readonly call_id?: string;
  readonly name?: string;
  readonly arguments?: string;
  readonly output?: unknown;
  readonly encrypted_content?: string;
}

interface RequestPart {
  readonly type: string;
  readonly text?: string;
  readonly image_url?: string;
}

export interface ScriptedModels {
  /** The raw bodies of all requests. */
  readonly bodies: readonly string[];
  /** The parsed bodies. */
  readonly requests: readonly ScriptedRequest[];
  /** Number of replies in progress. */
  readonly openReplies: number;
  model(name: string): Model;
  /** Sets the script for later requests. */
  setScript(script: ModelScript): void;
}

export const neverResolves: Promise<never> = new Promise(() => undefined);

/** A script that replies with the number of the answer. */
export const countingScript: ModelScript = (_request, round) => [{ text: `Answer ${round + 1}` }];

/** A script that starts a reply and never ends it. */
export const hangingScript: ModelScript = () => [{ text: "Beginning" }, { wait: neverResolves }];

/** Creates models that reply according to a script and record their requests. */
export function createScriptedModels(first: ModelScript): ScriptedModels {
  const bodies: string[] = [];
  let script = first;
  let round = 0;
  let openCount = 0;
  const nextSteps = (request: ScriptedRequest): readonly ReplyStep[] => {
    const steps =
      typeof script === "function"
        ? script(request, round)
        : (script[round] ?? [{ text: "Nothing more is in the script." }]);
    round += 1;
    return steps;
  };
  return {
    bodies,
    get requests() {
      return bodies.map((body) => JSON.parse(body) as ScriptedRequest);
    },
    get openReplies() {
      return openCount;
    },
    setScript(next) {
      script = next;
      round = 0;
    },
    model: (name) => ({
      name,
      async *stream(request, signal) {
        const body = JSON.stringify(request);
        bodies.push(body);
        const number = bodies.length;
        openCount += 1;
        try {
          yield* streamReply(nextSteps(JSON.parse(body) as ScriptedRequest), number, signal);
        } finally {
          openCount -= 1;
        }
      },
    }),
  };
}

async function* streamReply(
  steps: readonly ReplyStep[],
  number: number,
  signal: AbortSignal,
): AsyncGenerator<readonly JsonObject[]> {
  const response = { id: `resp_${number}`, object: "response", status: "in_progress", output: [] };
  const aborted = new Promise<never>((_resolve, reject) =>
    signal.addEventListener("abort", () => reject(signal.reason as Error), { once: true }),
  );
  aborted.catch(() => undefined);
  let hasStarted = false;
  for (const [index, step] of steps.entries()) {
    if ("error" in step) throw step.error;
    if ("wait" in step) {
      await Promise.race([step.wait, aborted]);
      continue;
    }
    if (!hasStarted) yield [{ type: "response.created", response }];
    hasStarted = true;
    if ("failed" in step) {
      yield [
        {
          type: "response.failed",
          response: { ...response, status: "failed", error: step.failed },
        },
      ];
      return;
    }
    for (const event of buildEvents(step, index, number)) {
      yield [event];
      await setImmediate();
      signal.throwIfAborted();
    }
  }
  const usage = { input_tokens: 10, output_tokens: 5, total_tokens: 15 };
  yield [{ type: "response.completed", response: { ...response, status: "completed", usage } }];
}

function* buildEvents(
  step: Exclude<ReplyStep, { error: unknown } | { failed: unknown } | { wait: unknown }>,
  output_index: number,
  number: number,
): Generator<JsonObject> {
  const added = (item: JsonObject) => ({ type: "response.output_item.added", output_index, item });
  const done = (item: JsonObject) => ({ type: "response.output_item.done", output_index, item });
  const id = `item_${number}_${output_index}`;
  if ("text" in step) {
    const chunks = typeof step.text === "string" ? [step.text] : step.text;
    const text = chunks.join("");
    const position = { item_id: id, output_index, content_index: 0 };
    const item = { type: "message", id, role: "assistant" };
    yield added({ ...item, status: "in_progress", content: [] });
    for (const delta of chunks) yield { type: "response.output_text.delta", ...position, delta };
    yield { type: "response.output_text.done", ...position, text };
    const content = [{ type: "output_text", text, annotations: [] }];
    yield done({ ...item, status: "completed", content });
  } else if ("reasoning" in step) {
    const { reasoning: text, encrypted } = step;
    const item = { type: "reasoning", id };
    const position = { item_id: id, output_index, summary_index: 0 };
    yield added({ ...item, summary: [] });
    yield { type: "response.reasoning_summary_text.delta", ...position, delta: text };
    yield done({
      ...item,
      summary: [{ type: "summary_text", text }],
      ...(encrypted === undefined ? {} : { encrypted_content: encrypted }),
    });
  } else if ("call" in step) {
    const { call: name, args, id: call_id = `call_${number}_${output_index}` } = step;
    const argumentsJson = typeof args === "string" ? args : JSON.stringify(args);
    const item = { type: "function_call", id, call_id, name };
    yield added({ ...item, status: "in_progress", arguments: "" });
    const middle = Math.floor(argumentsJson.length / 2);
    for (const delta of [argumentsJson.slice(0, middle), argumentsJson.slice(middle)])
      yield {
        type: "response.function_call_arguments.delta",
        item_id: id,
        output_index,
        delta,
      };
    yield done({ ...item, status: "completed", arguments: argumentsJson });
  } else {
    const item = { type: "image_generation_call", id };
    yield added({ ...item, status: "in_progress", result: null });
    yield done({ ...item, status: "completed", result: step.image, output_format: "png" });
  }
}
