import { setImmediate } from "node:timers/promises";
import type { Model, ModelError } from "@deltawire/agent";
import type { JsonObject } from "@deltawire/wire";

/** What a scripted model says in one round, in order. */
type Saying =
  /** Several: in as many pieces. */
  | { text: string | readonly string[] }
  | { reasoning: string; encrypted?: string }
  | { call: string; args: unknown; id?: string }
  /** An image in base64. */
  | { picture: string }
  /** Nothing comes, and the server says why. */
  | { error: ModelError }
  /** The reply fails after it has begun. */
  | { failed: { code: string; message: string } }
  /** Until then nothing more comes. */
  | { wait: Promise<unknown> };

export type Script =
  | readonly (readonly Saying[])[]
  | ((request: Asked, round: number) => readonly Saying[]);

/** A request as it left, read again. */
export interface Asked {
  readonly model: string;
  readonly instructions?: string;
  readonly input: readonly AskedItem[];
  readonly tools?: readonly { readonly name: string; readonly description: string }[];
  readonly [parameter: string]: unknown;
}

interface AskedItem {
  readonly type: string;
  readonly role?: string;
  readonly content?: readonly AskedPart[];
  readonly call_id?: string;
  readonly name?: string;
  readonly arguments?: string;
  readonly output?: unknown;
  readonly encrypted_content?: string;
}

interface AskedPart {
  readonly type: string;
  readonly text?: string;
  readonly image_url?: string;
}

export interface ScriptedModel {
  /** Every request, byte for byte. */
  readonly bodies: readonly string[];
  /** The same, read. */
  readonly asked: readonly Asked[];
  /** How many replies are under way. */
  readonly open: number;
  model(name: string): Model;
  /** What it says from now on. */
  say(script: Script): void;
}

export const never: Promise<never> = new Promise(() => undefined);

/** Says what number its answer has. */
export const counting: Script = (_request, round) => [{ text: `Answer ${round + 1}` }];

/** Begins, and never comes to an end. */
export const silent: Script = () => [{ text: "Beginning" }, { wait: never }];

/** Models that say in each round what the script says, and remember what they were asked. */
export function scriptedReplies(first: Script): ScriptedModel {
  const bodies: string[] = [];
  let script = first;
  let round = 0;
  let open = 0;
  const replyTo = (request: Asked): readonly Saying[] => {
    const sayings =
      typeof script === "function"
        ? script(request, round)
        : (script[round] ?? [{ text: "Nothing more is in the script." }]);
    round += 1;
    return sayings;
  };
  return {
    bodies,
    get asked() {
      return bodies.map((body) => JSON.parse(body) as Asked);
    },
    get open() {
      return open;
    },
    say(next) {
      script = next;
      round = 0;
    },
    model: (name) => ({
      name,
      async *stream(request, signal) {
        const body = JSON.stringify(request);
        bodies.push(body);
        const number = bodies.length;
        open += 1;
        try {
          yield* reply(replyTo(JSON.parse(body) as Asked), number, signal);
        } finally {
          open -= 1;
        }
      },
    }),
  };
}

async function* reply(
  sayings: readonly Saying[],
  number: number,
  signal: AbortSignal,
): AsyncGenerator<readonly JsonObject[]> {
  const response = { id: `resp_${number}`, object: "response", status: "in_progress", output: [] };
  const aborted = new Promise<never>((_resolve, reject) =>
    signal.addEventListener("abort", () => reject(signal.reason as Error), { once: true }),
  );
  aborted.catch(() => undefined);
  let begun = false;
  for (const [index, saying] of sayings.entries()) {
    if ("error" in saying) throw saying.error;
    if ("wait" in saying) {
      await Promise.race([saying.wait, aborted]);
      continue;
    }
    if (!begun) yield [{ type: "response.created", response }];
    begun = true;
    if ("failed" in saying) {
      yield [
        {
          type: "response.failed",
          response: { ...response, status: "failed", error: saying.failed },
        },
      ];
      return;
    }
    for (const event of eventsOf(saying, index, number)) {
      yield [event];
      await setImmediate();
      signal.throwIfAborted();
    }
  }
  const usage = { input_tokens: 10, output_tokens: 5, total_tokens: 15 };
  yield [{ type: "response.completed", response: { ...response, status: "completed", usage } }];
}

function* eventsOf(
  saying: Exclude<Saying, { error: unknown } | { failed: unknown } | { wait: unknown }>,
  output_index: number,
  number: number,
): Generator<JsonObject> {
  const added = (item: JsonObject) => ({ type: "response.output_item.added", output_index, item });
  const done = (item: JsonObject) => ({ type: "response.output_item.done", output_index, item });
  const id = `item_${number}_${output_index}`;
  if ("text" in saying) {
    const pieces = typeof saying.text === "string" ? [saying.text] : saying.text;
    const text = pieces.join("");
    const place = { item_id: id, output_index, content_index: 0 };
    const item = { type: "message", id, role: "assistant" };
    yield added({ ...item, status: "in_progress", content: [] });
    for (const delta of pieces) yield { type: "response.output_text.delta", ...place, delta };
    yield { type: "response.output_text.done", ...place, text };
    const content = [{ type: "output_text", text, annotations: [] }];
    yield done({ ...item, status: "completed", content });
  } else if ("reasoning" in saying) {
    const { reasoning: text, encrypted } = saying;
    const item = { type: "reasoning", id };
    const place = { item_id: id, output_index, summary_index: 0 };
    yield added({ ...item, summary: [] });
    yield { type: "response.reasoning_summary_text.delta", ...place, delta: text };
    yield done({
      ...item,
      summary: [{ type: "summary_text", text }],
      ...(encrypted === undefined ? {} : { encrypted_content: encrypted }),
    });
  } else if ("call" in saying) {
    const { call: name, args, id: call_id = `call_${number}_${output_index}` } = saying;
    const whole = typeof args === "string" ? args : JSON.stringify(args);
    const item = { type: "function_call", id, call_id, name };
    yield added({ ...item, status: "in_progress", arguments: "" });
    const middle = Math.floor(whole.length / 2);
    for (const delta of [whole.slice(0, middle), whole.slice(middle)])
      yield {
        type: "response.function_call_arguments.delta",
        item_id: id,
        output_index,
        delta,
      };
    yield done({ ...item, status: "completed", arguments: whole });
  } else {
    const item = { type: "image_generation_call", id };
    yield added({ ...item, status: "in_progress", result: null });
    yield done({ ...item, status: "completed", result: saying.picture, output_format: "png" });
  }
}
