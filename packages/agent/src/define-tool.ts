import {
  createInputCheck,
  type InputSchema,
  toToolParameters,
  findUncheckedSchemaKeywords,
} from "./schemas/input-schema.ts";
import { validateOneOf, validateApprovalPolicy, validateString } from "./validate-definition.ts";
import type { Tool, ToolDefinition } from "./tool.ts";

/** Names of the tools that the runtime implements itself. */
export const builtInToolNames = { help: "ask_for_help", read: "read_result" } as const;

/** Returns the tool with defaults filled in. Throws a TypeError if the definition is invalid. */
export function defineTool<Input = unknown>(definition: ToolDefinition<Input>): Tool {
  const { name } = definition;
  if (Object.values<string>(builtInToolNames).includes(name))
    throw new TypeError(`"${name}" is the name of a built-in tool; choose another name`);
  const tool = createTool(definition);
  const [uncheckedKeyword] = findUncheckedSchemaKeywords(definition.input ?? {});
  if (uncheckedKeyword !== undefined)
    throw new TypeError(`${name}: the input schema cannot be checked: ${uncheckedKeyword}`);
  return tool;
}

/**
 * Like `defineTool`, for built-in and third-party tools: allows the names of built-in tools, and schema keywords that cannot be
 * checked.
 */
export function createTool<Input = unknown>(definition: ToolDefinition<Input>): Tool {
  const {
    name,
    description,
    input = {},
    effect = "once",
    approval = "auto",
    allows,
    timeoutMs = 60_000,
  } = definition;
  if (typeof name !== "string" || !/^[A-Za-z_][\w-]{0,63}$/.test(name))
    throw new TypeError(
      `invalid tool name "${name}": must start with a letter or _ and contain only letters, digits, _ and - (at most 64)`,
    );
  validateString(`the description of the tool ${name}`, description);
  if (typeof definition.run !== "function")
    throw new TypeError(`the tool ${name} needs a run function`);
  if (!(timeoutMs > 0)) throw new TypeError(`timeoutMs of the tool ${name} must be greater than 0`);
  validateOneOf(`the effect of the tool ${name}`, effect, ["pure", "idempotent", "once"]);
  const policy = typeof approval === "string" ? { call: approval } : approval;
  validateApprovalPolicy(
    `the approval of the tool ${name}`,
    policy,
    "a string or { call, result }",
  );
  return {
    name,
    description,
    parameters: definition.parameters ?? deriveParameters(name, input),
    effect,
    approval: {
      call: policy.call ?? "auto",
      ...(policy.result !== undefined && { result: policy.result }),
    },
    allowsAnyArguments: definition.allowsAnyArguments ?? true,
    timeoutMs,
    parallel: definition.parallel ?? effect === "pure",
    ...(definition.unmask === false && { unmask: false as const }),
    ...(definition.expandsVariables === false && { expandsVariables: false as const }),
    ...(allows !== undefined && { allows: (value: unknown) => allows(value as Input) }),
    check: createInputCheck(input),
    run: (value, context) => definition.run(value as Input, context),
  };
}

function deriveParameters(name: string, input: InputSchema): Tool["parameters"] {
  try {
    return toToolParameters(input);
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    throw new TypeError(`${name}: ${error.message}`, { cause: error });
  }
}
