import { unreachable } from "../error.ts";
import { isObject, parseLimitedJson, type JsonObject } from "../json.ts";
import type { Repairs } from "../repairs.ts";
import type { ItemStatus, OutputItem, ResponseEvent } from "../shapes/responses-reply.ts";
import type { AssembledCall, CallEvent } from "../tools/assembler.ts";
import type { DeclaredTool, OwnFormKind, ToolBridge } from "../tools/bridge.ts";
import { CustomInput } from "../tools/custom-input.ts";
import type { Output } from "./output.ts";

interface OpenCall {
  index: number;
  itemId: string;
  tool: DeclaredTool;
  /** For a custom tool that the upstream knows as a function. */
  input: CustomInput | undefined;
}

type Closed = CallEvent & { type: "call.closed" };

export interface CallsOptions {
  output: Output;
  newId: (prefix: string) => string;
  tools: ToolBridge;
  cutCalls: "incomplete" | "withheld";
  repairs: Repairs;
}

/** Tool calls, each given back in the form in which its tool was declared: Codex refuses every other one. */
export class Calls {
  readonly #options: CallsOptions;
  readonly #output: Output;
  readonly #open = new Map<AssembledCall, OpenCall>();

  constructor(options: CallsOptions) {
    this.#options = options;
    this.#output = options.output;
  }

  open(call: AssembledCall, out: ResponseEvent[]): void {
    const tool = this.#options.tools.declared(call.name) ?? {
      kind: call.kind,
      name: call.name,
    };
    const itemId = this.#options.newId(itemIdPrefix[tool.kind]);
    const bridged = tool.kind === "custom" && call.kind === "function";
    const index = this.#output.add(callItem(tool, itemId, call, "in_progress", ""), out);
    this.#open.set(call, { index, itemId, tool, input: bridged ? new CustomInput() : undefined });
  }

  arguments(call: AssembledCall, delta: string, out: ResponseEvent[]): void {
    const open = this.#open.get(call);
    if (open === undefined) return;
    if (open.tool.kind === "function")
      out.push({
        type: "response.function_call_arguments.delta",
        sequence_number: this.#output.sequence(),
        item_id: open.itemId,
        output_index: open.index,
        delta,
      });
    else if (open.tool.kind === "custom")
      this.#inputDelta(open, open.input === undefined ? delta : open.input.push(delta), out);
  }

  close(closed: Closed, out: ResponseEvent[]): void {
    const open = this.#open.get(closed.call);
    if (open === undefined) return;
    this.#open.delete(closed.call);
    const { tool } = open;
    const withholds = this.#options.cutCalls === "withheld";
    if (withholds && closed.cut) return this.#withhold(closed);
    let { arguments: text, whole } = closed;
    if (open.input !== undefined) {
      const ended = open.input.finish(closed);
      if (ended.unwrapped) this.#options.repairs.add("custom_input_unwrapped", closed.received);
      this.#inputDelta(open, ended.rest, out);
      ({ input: text, whole } = ended);
    }
    if (whole && isOwnForm(tool) && !isRunnable(tool.kind, text)) {
      this.#options.repairs.add("arguments_not_whole", text);
      whole = false;
    }
    if (withholds && !whole && couldRun(tool, text)) return this.#withhold(closed);
    const place = { item_id: open.itemId, output_index: open.index };
    if (tool.kind === "function")
      out.push({
        type: "response.function_call_arguments.done",
        ...this.#output.next(),
        ...place,
        name: tool.name,
        arguments: text,
      });
    else if (tool.kind === "custom")
      out.push({
        type: "response.custom_tool_call_input.done",
        ...this.#output.next(),
        ...place,
        input: text,
      });
    const status = whole ? "completed" : "incomplete";
    this.#output.done(open.index, callItem(tool, open.itemId, closed.call, status, text), out);
  }

  #withhold({ call }: Closed): void {
    this.#options.repairs.add("call_withheld", call.name);
  }

  #inputDelta(open: OpenCall, delta: string, out: ResponseEvent[]): void {
    if (delta === "") return;
    out.push({
      type: "response.custom_tool_call_input.delta",
      ...this.#output.next(),
      item_id: open.itemId,
      output_index: open.index,
      delta,
    });
  }
}

const itemIdPrefix: Record<DeclaredTool["kind"], string> = {
  function: "fc",
  custom: "ctc",
  tool_search: "tsc",
  local_shell: "lsh",
  shell: "sh",
  apply_patch: "apc",
};

function callItem(
  tool: DeclaredTool,
  id: string,
  call: AssembledCall,
  status: ItemStatus,
  text: string,
): OutputItem {
  const base = { id, status, call_id: call.id };
  switch (tool.kind) {
    case "function":
      return { type: "function_call", ...base, ...qualifiedName(tool), arguments: text };
    case "custom":
      return { type: "custom_tool_call", ...base, ...qualifiedName(tool), input: text };
    case "tool_search":
      return {
        type: "tool_search_call",
        ...base,
        execution: "client",
        arguments: objectOf(text),
      };
    case "local_shell":
      return {
        type: "local_shell_call",
        ...base,
        action: { type: "exec", command: [], env: {}, ...shellAction(text) },
      };
    case "shell":
      return {
        type: "shell_call",
        ...base,
        action: { commands: [], timeout_ms: null, max_output_length: null, ...objectOf(text) },
      };
    case "apply_patch":
      return { type: "apply_patch_call", ...base, operation: objectOf(text) };
    default:
      return unreachable(tool);
  }
}

function qualifiedName({ name, namespace }: { name: string; namespace?: string }) {
  return namespace === undefined ? { name } : { name, namespace };
}

function objectOf(text: string): JsonObject {
  const value = parseLimitedJson(text);
  return isObject(value) ? value : {};
}

/** Models also write a command line where the form has a list of words. */
function shellAction(text: string): JsonObject {
  const action = objectOf(text);
  const { command } = action;
  return typeof command === "string" ? { ...action, command: ["bash", "-lc", command] } : action;
}

/** Arguments that are no JSON cannot be run; the client says so to the model, which then tries again. */
function couldRun(tool: DeclaredTool, text: string): boolean {
  return tool.kind !== "function" || parseLimitedJson(text) !== undefined;
}

function isOwnForm(tool: DeclaredTool): tool is DeclaredTool & { kind: OwnFormKind } {
  return tool.kind !== "function" && tool.kind !== "custom";
}

/** Whether the arguments of a tool with a form of its own have what the form cannot be without. */
function isRunnable(kind: OwnFormKind, text: string): boolean {
  const value = parseLimitedJson(text);
  if (!isObject(value)) return false;
  switch (kind) {
    case "tool_search":
      return true;
    case "local_shell":
      return isListOfStrings(shellAction(text)["command"]);
    case "shell":
      return isListOfStrings(value["commands"]);
    case "apply_patch":
      return typeof value["type"] === "string" && typeof value["path"] === "string";
    default:
      return unreachable(kind);
  }
}

function isListOfStrings(value: unknown): boolean {
  return (
    Array.isArray(value) && value.length > 0 && value.every((each) => typeof each === "string")
  );
}
