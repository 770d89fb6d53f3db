import { setImmediate } from "node:timers/promises";
import type { Model, ModelError } from "@deltawire/agent";
import {
  ChatBody,
  translateResponsesRequest,
  connectMachines,
  genericProfile,
  ResponsesOverChat,
  type ChatRequest,
  type JsonObject,
  type ResponseEvent,
  type ResponsesRequest,
} from "@deltawire/wire";

/** One step of a scripted round, sent as a provider's Chat stream. */
export type ScriptStep =
  | { text: string | string[] }
  | { reasoning: string | string[] }
  | { call: string; args: unknown; id?: string; raw?: string }
  /** The stream ends here without a finish reason. */
  | { cut: true }
  /** The upstream rejects the request. */
  | { error: ModelError }
  | { wait: Promise<unknown> }
  | { finish: string };

export interface ScriptedModel extends Model {
  /** The requests by round. */
  readonly requests: ResponsesRequest[];
  /** The requests as a Chat upstream would receive them. */
  readonly chatRequests: ChatRequest[];
  /** Number of open streams. */
  openStreams: number;
}

/** Creates a model that follows a script; its steps pass through the real translation of a Chat upstream. */
export function scriptedModel(
  script:
    | readonly (readonly ScriptStep[])[]
    | ((request: ResponsesRequest, round: number) => readonly ScriptStep[]),
  pause: () => Promise<unknown> = setImmediate,
): ScriptedModel {
  let round = 0;
  const model: ScriptedModel = {
    requests: [],
    chatRequests: [],
    openStreams: 0,
    async *stream(request, signal, report) {
      const steps =
        typeof script === "function"
          ? script(request, round)
          : (script[round] ?? [{ text: "done" }]);
      round += 1;
      model.requests.push(structuredClone(request));
      const { body, ...replyOptions } = translateResponsesRequest(request, {
        profile: genericProfile,
        upstreamModel: "m",
      });
      model.chatRequests.push(body);
      const { repairs } = replyOptions;
      let ids = 0;
      const machine = connectMachines(
        new ChatBody({ repairs, utf8: new TextDecoder(), expect: "stream" }),
        new ResponsesOverChat({
          ...replyOptions,
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
      model.openStreams += 1;
      try {
        let finish: string | undefined = "stop";
        let calls = 0;
        for (const step of steps) {
          if ("error" in step) throw step.error;
          if ("wait" in step) await Promise.race([step.wait, aborted]);
          if ("finish" in step) finish = step.finish;
          if ("cut" in step) finish = undefined;
          for (const delta of toDeltas(step, calls)) {
            machine.push(
              `data: ${JSON.stringify({ choices: [{ index: 0, delta }] })}\n\n`,
              out as ResponseEvent[],
            );
            if (out.length > 0) yield out.splice(0);
            await pause();
            signal.throwIfAborted();
          }
          if ("call" in step) calls += 1;
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
        model.openStreams -= 1;
      }
    },
  };
  return model;
}

function toDeltas(step: ScriptStep, index: number): JsonObject[] {
  if ("text" in step) return toArray(step.text).map((content) => ({ content }));
  if ("reasoning" in step)
    return toArray(step.reasoning).map((text) => ({ reasoning_content: text }));
  if (!("call" in step)) return [];
  const { call: name, id = `provider_call_${index}` } = step;
  const args = step.raw ?? JSON.stringify(step.args);
  const middle = Math.floor(args.length / 2);
  return [
    { tool_calls: [{ index, id, type: "function", function: { name, arguments: "" } }] },
    { tool_calls: [{ index, function: { arguments: args.slice(0, middle) } }] },
    { tool_calls: [{ index, function: { arguments: args.slice(middle) } }] },
  ];
}

function toArray(value: string | string[]): string[] {
  return typeof value === "string" ? [value] : value;
}
