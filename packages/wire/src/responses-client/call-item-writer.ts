import { assertNever } from "../error.ts";
import { isObject, parseLimitedJson, type JsonObject } from "../json.ts";
import type { Repairs } from "../repairs.ts";
import type {
  ResponseItemStatus,
  ResponseOutputItem,
  ResponseEvent,
} from "../shapes/responses-reply.ts";
import type { AssembledCall, CallEvent } from "../tools/tool-call-assembler.ts";
import type { AllowedTools } from "../tools/allowed-tools.ts";
import type { DeclaredTool, BuiltInToolKind, ToolTranslation } from "../tools/tool-translation.ts";
import { CustomInputDecoder } from "../tools/custom-input-decoder.ts";
import type { ResponseOutputWriter } from "./output-writer.ts";

interface OpenCall {
  index: number;
  itemId: string;
  tool: DeclaredTool;
  /** Set for a custom tool that is offered to the upstream as a function. */
  inputDecoder: CustomInputDecoder | undefined;
}

type CallClosedEvent = CallEvent & { type: "call.closed" };

export interface CallItemWriterOptions {
  output: ResponseOutputWriter;
  newId: (prefix: string) => string;
  tools: ToolTranslation;
  truncatedCalls: "incomplete" | "withheld";
  /** Calls of other tools are not sent. Undefined: all are. */
  allowedTools: AllowedTools | undefined;
  repairs: Repairs;
}

/** Writes each tool call in the form in which its tool was declared. Codex rejects any other form. */
export class CallItemWriter {
  readonly #options: CallItemWriterOptions;
  readonly #output: ResponseOutputWriter;
  readonly #openCalls = new Map<AssembledCall, OpenCall>();
  /** The name of the first call that is not allowed. */
  notAllowedName: string | undefined;

  constructor(options: CallItemWriterOptions) {
    this.#options = options;
    this.#output = options.output;
  }

  open(call: AssembledCall, out: ResponseEvent[]): void {
    const tool = this.#options.tools.findDeclared(call.name) ?? {
      kind: call.kind,
      name: call.name,
    };
    if (this.#options.allowedTools?.has(tool) === false) {
      this.#options.repairs.add("call_withheld", `${call.name}: not in allowed_tools`);
      this.notAllowedName ??= call.name;
      return;
    }
    const itemId = this.#options.newId(itemIdPrefixes[tool.kind]);
    const isCustomAsFunction = tool.kind === "custom" && call.kind === "function";
    const index = this.#output.addItem(buildCallItem(tool, itemId, call, "in_progress", ""), out);
    this.#openCalls.set(call, {
      index,
      itemId,
      tool,
      inputDecoder: isCustomAsFunction ? new CustomInputDecoder() : undefined,
    });
  }

  pushArguments(call: AssembledCall, delta: string, out: ResponseEvent[]): void {
    const openCall = this.#openCalls.get(call);
    if (openCall === undefined) return;
    if (openCall.tool.kind === "function")
      out.push({
        type: "response.function_call_arguments.delta",
        sequence_number: this.#output.nextSequenceNumber(),
        item_id: openCall.itemId,
        output_index: openCall.index,
        delta,
      });
    else if (openCall.tool.kind === "custom")
      this.#emitInputDelta(
        openCall,
        openCall.inputDecoder === undefined ? delta : openCall.inputDecoder.push(delta),
        out,
      );
  }

  close(event: CallClosedEvent, out: ResponseEvent[]): void {
    const openCall = this.#openCalls.get(event.call);
    if (openCall === undefined) return;
    this.#openCalls.delete(event.call);
    const { tool } = openCall;
    const withholdsIncomplete = this.#options.truncatedCalls === "withheld";
    if (withholdsIncomplete && event.isTruncated) return this.#withhold(event);
    let { arguments: text, isComplete } = event;
    if (openCall.inputDecoder !== undefined) {
      const decoded = openCall.inputDecoder.finish(event);
      if (decoded.wasUnwrapped)
        this.#options.repairs.add("custom_input_unwrapped", event.rawArguments);
      this.#emitInputDelta(openCall, decoded.remaining, out);
      ({ input: text, isComplete } = decoded);
    }
    if (isComplete && isBuiltInTool(tool) && !hasRequiredArguments(tool.kind, text)) {
      this.#options.repairs.add("arguments_incomplete", text);
      isComplete = false;
    }
    if (withholdsIncomplete && !isComplete && mightRun(tool, text)) return this.#withhold(event);
    const position = { item_id: openCall.itemId, output_index: openCall.index };
    if (tool.kind === "function")
      out.push({
        type: "response.function_call_arguments.done",
        ...this.#output.nextSequenceField(),
        ...position,
        name: tool.name,
        arguments: text,
      });
    else if (tool.kind === "custom")
      out.push({
        type: "response.custom_tool_call_input.done",
        ...this.#output.nextSequenceField(),
        ...position,
        input: text,
      });
    const status = isComplete ? "completed" : "incomplete";
    this.#output.finishItem(
      openCall.index,
      buildCallItem(tool, openCall.itemId, event.call, status, text),
      out,
    );
  }

  #withhold({ call }: CallClosedEvent): void {
    this.#options.repairs.add("call_withheld", call.name);
  }

  #emitInputDelta(openCall: OpenCall, delta: string, out: ResponseEvent[]): void {
    if (delta === "") return;
    out.push({
      type: "response.custom_tool_call_input.delta",
      ...this.#output.nextSequenceField(),
      item_id: openCall.itemId,
      output_index: openCall.index,
      delta,
    });
  }
}

const itemIdPrefixes: Record<DeclaredTool["kind"], string> = {
  function: "fc",
  custom: "ctc",
  tool_search: "tsc",
  local_shell: "lsh",
  shell: "sh",
  apply_patch: "apc",
};

function buildCallItem(
  tool: DeclaredTool,
  id: string,
  call: AssembledCall,
  status: ResponseItemStatus,
  text: string,
): ResponseOutputItem {
  const base = { id, status, call_id: call.id };
  switch (tool.kind) {
    case "function":
      return { type: "function_call", ...base, ...toQualifiedName(tool), arguments: text };
    case "custom":
      return { type: "custom_tool_call", ...base, ...toQualifiedName(tool), input: text };
    case "tool_search":
      return {
        type: "tool_search_call",
        ...base,
        execution: "client",
        arguments: parseObjectOrEmpty(text),
      };
    case "local_shell":
      return {
        type: "local_shell_call",
        ...base,
        action: { type: "exec", command: [], env: {}, ...parseShellAction(text) },
      };
    case "shell":
      return {
        type: "shell_call",
        ...base,
        action: {
          commands: [],
          timeout_ms: null,
          max_output_length: null,
          ...parseObjectOrEmpty(text),
        },
      };
    case "apply_patch":
      return { type: "apply_patch_call", ...base, operation: parseObjectOrEmpty(text) };
    default:
      return assertNever(tool);
  }
}

function toQualifiedName(tool: { name: string; namespace?: string; async?: true }) {
  const { name, namespace, async } = tool;
  return {
    name,
    ...(namespace === undefined ? {} : { namespace }),
    ...(async === undefined ? {} : { async }),
  };
}

function parseObjectOrEmpty(text: string): JsonObject {
  const value = parseLimitedJson(text);
  return isObject(value) ? value : {};
}

/** Parses the arguments of `local_shell`. Some models send a command line although the schema requires an array. */
function parseShellAction(text: string): JsonObject {
  const action = parseObjectOrEmpty(text);
  const { command } = action;
  return typeof command === "string" ? { ...action, command: ["bash", "-lc", command] } : action;
}

/**
 * True if a client might run the incomplete call. False for function arguments that are not JSON, because the client
 * reports those to the model, which tries again.
 */
function mightRun(tool: DeclaredTool, text: string): boolean {
  return tool.kind !== "function" || parseLimitedJson(text) !== undefined;
}

function isBuiltInTool(tool: DeclaredTool): tool is DeclaredTool & { kind: BuiltInToolKind } {
  return tool.kind !== "function" && tool.kind !== "custom";
}

/** True if the arguments of a built-in tool have its required fields. */
function hasRequiredArguments(kind: BuiltInToolKind, text: string): boolean {
  const value = parseLimitedJson(text);
  if (!isObject(value)) return false;
  switch (kind) {
    case "tool_search":
      return true;
    case "local_shell":
      return isNonEmptyStringArray(parseShellAction(text)["command"]);
    case "shell":
      return isNonEmptyStringArray(value["commands"]);
    case "apply_patch":
      return typeof value["type"] === "string" && typeof value["path"] === "string";
    default:
      return assertNever(kind);
  }
}

function isNonEmptyStringArray(value: unknown): boolean {
  return (
    Array.isArray(value) &&
    value.length > 0 &&
    value.every((element) => typeof element === "string")
  );
}
