import { setImmediate } from "node:timers/promises";
import type { Model, ModelError } from "@deltawire/agent";
import {
  ChatBody,
  chatRequest,
  connect,
  genericProfile,
  ResponsesOverChat,
  type ChatRequest,
  type JsonObject,
  type ResponseEvent,
  type ResponsesRequest,
} from "@deltawire/wire";

/** What a scripted model says in one round, as a provider's Chat stream would say it. */
export type Saying =
  | { text: string | string[] }
  | { reasoning: string | string[] }
  | { call: string; args: unknown; id?: string; raw?: string }
  /** The stream breaks off here. */
  | { cut: true }
  /** The upstream refuses. */
  | { error: ModelError }
  | { wait: Promise<unknown> }
  | { finish: string };

export interface ScriptedModel extends Model {
  /** What it was asked, round by round. */
  readonly asked: ResponsesRequest[];
  /** The same, as a Chat upstream would have got it. */
  readonly chat: ChatRequest[];
  /** How many streams are open. */
  open: number;
}

/** A model that says in each round what the script says, through the real translator of a Chat upstream. */
export function scriptedModel(
  script:
    | readonly (readonly Saying[])[]
    | ((request: ResponsesRequest, round: number) => readonly Saying[]),
  pause: () => Promise<unknown> = setImmediate,
): ScriptedModel {
  let round = 0;
  const model: ScriptedModel = {
    asked: [],
    chat: [],
    open: 0,
    async *stream(request, signal, report) {
      const sayings =
        typeof script === "function"
          ? script(request, round)
          : (script[round] ?? [{ text: "done" }]);
      round += 1;
      model.asked.push(structuredClone(request));
      const { body, ...forTheReply } = chatRequest(request, {
        profile: genericProfile,
        upstreamModel: "m",
      });
      model.chat.push(body);
      const { repairs } = forTheReply;
      let ids = 0;
      const machine = connect(
        new ChatBody({ repairs, utf8: new TextDecoder(), expect: "stream" }),
        new ResponsesOverChat({
          ...forTheReply,
          responseId: `resp_${round}`,
          createdAt: 0,
          newId: (prefix) => `${prefix}_${round}_${(ids += 1)}`,
        }),
      );
      const out: (ResponseEvent | JsonObject)[] = [];
      const aborted = new Promise<never>((_resolve, reject) =>
        signal.addEventListener("abort", () => reject(signal.reason as Error), { once: true }),
      );
      aborted.catch(() => undefined);
      model.open += 1;
      try {
        let finish: string | undefined = "stop";
        let calls = 0;
        for (const saying of sayings) {
          if ("error" in saying) throw saying.error;
          if ("wait" in saying) await Promise.race([saying.wait, aborted]);
          if ("finish" in saying) finish = saying.finish;
          if ("cut" in saying) finish = undefined;
          for (const delta of deltasOf(saying, calls)) {
            machine.push(
              `data: ${JSON.stringify({ choices: [{ index: 0, delta }] })}\n\n`,
              out as ResponseEvent[],
            );
            if (out.length > 0) yield out.splice(0);
            await pause();
            signal.throwIfAborted();
          }
          if ("call" in saying) calls += 1;
          if (finish === undefined) break;
        }
        if (finish !== undefined) {
          const usage = { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 };
          const end = { choices: [{ index: 0, delta: {}, finish_reason: finish }], usage };
          machine.push(`data: ${JSON.stringify(end)}\n\ndata: [DONE]\n\n`, out as ResponseEvent[]);
        }
        machine.end("eof", out as ResponseEvent[]);
        yield out;
      } finally {
        report?.({ repairs: Object.fromEntries(repairs.counts) });
        model.open -= 1;
      }
    },
  };
  return model;
}

function deltasOf(saying: Saying, index: number): JsonObject[] {
  if ("text" in saying) return list(saying.text).map((content) => ({ content }));
  if ("reasoning" in saying)
    return list(saying.reasoning).map((text) => ({ reasoning_content: text }));
  if (!("call" in saying)) return [];
  const { call: name, id = `provider_call_${index}` } = saying;
  const args = saying.raw ?? JSON.stringify(saying.args);
  const middle = Math.floor(args.length / 2);
  return [
    { tool_calls: [{ index, id, type: "function", function: { name, arguments: "" } }] },
    { tool_calls: [{ index, function: { arguments: args.slice(0, middle) } }] },
    { tool_calls: [{ index, function: { arguments: args.slice(middle) } }] },
  ];
}

function list(value: string | string[]): string[] {
  return typeof value === "string" ? [value] : value;
}
