import type { Piece } from "../chat-upstream/choice.ts";
import type { Repairs } from "../repairs.ts";
import type { AssembledCall, CallEvent } from "../tools/assembler.ts";
import type { ToolBridge } from "../tools/bridge.ts";
import { CustomInput } from "../tools/custom-input.ts";

interface DeclaredCall {
  call: AssembledCall;
  /** For a custom tool that the upstream knows as a function. */
  input: CustomInput | undefined;
}

/** The calls of one choice as the client declared their tools, where they were offered under other names or as functions. */
export class DeclaredCalls {
  readonly #tools: ToolBridge;
  readonly #repairs: Repairs;
  readonly #choice: number;
  readonly #calls = new Map<AssembledCall, DeclaredCall>();

  constructor(tools: ToolBridge, repairs: Repairs, choice: number) {
    this.#tools = tools;
    this.#repairs = repairs;
    this.#choice = choice;
  }

  read(pieces: readonly Piece[]): Piece[] {
    return pieces.flatMap<Piece>((piece) => ("call" in piece ? this.#told(piece) : [piece]));
  }

  #told(event: CallEvent): CallEvent[] {
    const { call, input } = this.#calls.get(event.call) ?? this.#declare(event.call);
    if (input === undefined || event.type === "call.opened" || event.type === "call.fields")
      return [{ ...event, call }];
    if (event.type === "call.arguments") return argumentsOf(call, input.push(event.delta));
    const { input: text, rest, whole, unwrapped } = input.finish(event);
    if (unwrapped) this.#repairs.add("custom_input_unwrapped", event.received, this.#choice);
    return [...argumentsOf(call, rest), { ...event, call, arguments: text, whole }];
  }

  #declare(call: AssembledCall): DeclaredCall {
    const tool = this.#tools.declared(call.name);
    const known = tool?.kind === "function" || tool?.kind === "custom" ? tool : call;
    const told = { ...call, name: known.name, kind: known.kind };
    const input =
      known.kind === "custom" && call.kind === "function" ? new CustomInput() : undefined;
    const declared = { call: told, input };
    this.#calls.set(call, declared);
    return declared;
  }
}

function argumentsOf(call: AssembledCall, delta: string): CallEvent[] {
  return delta === "" ? [] : [{ type: "call.arguments", call, delta }];
}
