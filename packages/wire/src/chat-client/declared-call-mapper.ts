import type { ReplyPiece } from "../reply/reply-piece.ts";
import type { Repairs } from "../repairs.ts";
import type { AssembledCall, CallEvent } from "../tools/tool-call-assembler.ts";
import type { ToolTranslation } from "../tools/tool-translation.ts";
import { CustomInputDecoder } from "../tools/custom-input-decoder.ts";

interface MappedCall {
  call: AssembledCall;
  /** Set for a custom tool that is offered to the upstream as a function. */
  inputDecoder: CustomInputDecoder | undefined;
}

/**
 * Maps the calls of one choice back to the client's declared tools, if they were offered under other names or as
 * functions.
 */
export class DeclaredCallMapper {
  readonly #tools: ToolTranslation;
  readonly #repairs: Repairs;
  readonly #choice: number;
  readonly #mappedCalls = new Map<AssembledCall, MappedCall>();

  constructor(tools: ToolTranslation, repairs: Repairs, choice: number) {
    this.#tools = tools;
    this.#repairs = repairs;
    this.#choice = choice;
  }

  map(events: readonly ReplyPiece[]): ReplyPiece[] {
    return events.flatMap<ReplyPiece>((event) =>
      "call" in event ? this.#mapEvent(event) : [event],
    );
  }

  #mapEvent(event: CallEvent): CallEvent[] {
    const { call, inputDecoder } =
      this.#mappedCalls.get(event.call) ?? this.#createMapping(event.call);
    if (inputDecoder === undefined || event.type === "call.opened" || event.type === "call.fields")
      return [{ ...event, call }];
    if (event.type === "call.arguments")
      return toArgumentEvents(call, inputDecoder.push(event.delta));
    const { input: text, remaining, isComplete, wasUnwrapped } = inputDecoder.finish(event);
    if (wasUnwrapped) this.#repairs.add("custom_input_unwrapped", event.rawArguments, this.#choice);
    return [...toArgumentEvents(call, remaining), { ...event, call, arguments: text, isComplete }];
  }

  #createMapping(call: AssembledCall): MappedCall {
    const tool = this.#tools.findDeclared(call.name);
    const target = tool?.kind === "function" || tool?.kind === "custom" ? tool : call;
    const mapped = { ...call, name: target.name, kind: target.kind };
    const inputDecoder =
      target.kind === "custom" && call.kind === "function" ? new CustomInputDecoder() : undefined;
    const entry = { call: mapped, inputDecoder };
    this.#mappedCalls.set(call, entry);
    return entry;
  }
}

function toArgumentEvents(call: AssembledCall, delta: string): CallEvent[] {
  return delta === "" ? [] : [{ type: "call.arguments", call, delta }];
}
