import {
  inputCheck,
  type InputSchema,
  parametersOf,
  uncheckedInput,
} from "./schemas/input-schema.ts";
import { mustBeOneOf, mustBePolicy, mustBeText } from "./must-be.ts";
import type { Tool, ToolDefinition } from "./tool.ts";

/** The tools that the runtime itself carries out. */
export const ownNames = { help: "ask_for_help", read: "read_result" } as const;

/** A tool with what its definition leaves out filled in. A TypeError where the definition cannot work. */
export function defineTool<Input = unknown>(definition: ToolDefinition<Input>): Tool {
  const { name } = definition;
  if (Object.values<string>(ownNames).includes(name))
    throw new TypeError(`"${name}" is the name of a tool that every agent may have: take another`);
  const tool = toolOf(definition);
  const [unchecked] = uncheckedInput(definition.input ?? {});
  if (unchecked !== undefined)
    throw new TypeError(`${name}: the input schema cannot be checked: ${unchecked}`);
  return tool;
}

/** The same for any name, and for schemas of others: what cannot be checked in them forbids nothing. */
export function toolOf<Input = unknown>(definition: ToolDefinition<Input>): Tool {
  const {
    name,
    description,
    input = {},
    effect = "once",
    approval = "auto",
    allows,
    timeout = 60_000,
  } = definition;
  if (typeof name !== "string" || !/^[A-Za-z_][\w-]{0,63}$/.test(name))
    throw new TypeError(
      `the tool's name "${name}" must begin with a letter or _ and have at most 64 letters, digits, _ and -`,
    );
  mustBeText(`the description of the tool ${name}`, description);
  if (typeof definition.run !== "function")
    throw new TypeError(`the tool ${name} needs a function run`);
  if (!(timeout > 0)) throw new TypeError(`the time limit of ${name} must be more than 0`);
  mustBeOneOf(`the effect of the tool ${name}`, effect, ["pure", "idempotent", "once"]);
  const policy = typeof approval === "string" ? { call: approval } : approval;
  mustBePolicy(`the approval of the tool ${name}`, policy);
  return {
    name,
    description,
    parameters: definition.parameters ?? ownParameters(name, input),
    effect,
    approval: {
      call: policy.call ?? "auto",
      ...(policy.result !== undefined && { result: policy.result }),
    },
    anyArguments: definition.anyArguments ?? true,
    timeoutMs: timeout,
    parallel: definition.parallel ?? effect === "pure",
    ...(definition.unmask === false && { unmask: false as const }),
    ...(definition.expandsVariables === false && { expandsVariables: false as const }),
    ...(allows !== undefined && { allows: (value: unknown) => allows(value as Input) }),
    check: inputCheck(input),
    run: (value, context) => definition.run(value as Input, context),
  };
}

function ownParameters(name: string, input: InputSchema): Tool["parameters"] {
  try {
    return parametersOf(input);
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    throw new TypeError(`${name}: ${error.message}`, { cause: error });
  }
}
