import { isObject, nonEmptyString, type JsonObject } from "../json.ts";
import type { UpstreamProfile } from "../upstream-profile.ts";
import type { Repairs } from "../repairs.ts";
import type { ChatTool } from "../shapes/chat-request.ts";
import type {
  ResponseCustomTool,
  ResponseFunctionTool,
  ResponsesRequest,
  ResponseTool,
  ResponseToolSearchTool,
} from "../shapes/responses-request.ts";
import type { DeclaredTool, ToolTranslation } from "./tool-translation.ts";
import { toGeminiSchema } from "./gemini-schema.ts";
import { createToolAlias, flattenToolName, toUpstreamToolName } from "./tool-names.ts";
import { toMoonshotSchema, toObjectSchema } from "./json-schema.ts";

export interface OfferedTools {
  tools: ChatTool[];
  translation: ToolTranslation;
  /** Returns the upstream's name for a call in the history, even if its tool is no longer declared. */
  getCallName(tool: DeclaredTool): string;
  /** Returns the offered names that an entry of `tool_choice` selects. Empty if none of them was offered. */
  findChosenNames(choice: JsonObject): string[];
}

/**
 * Converts the tools of a Responses client for a Chat upstream, which supports only functions and sometimes custom
 * tools.
 */
export function offerTools(
  declared: readonly ResponseTool[],
  profile: UpstreamProfile,
  repairs: Repairs,
): OfferedTools {
  const builder = new ToolOfferBuilder(profile, repairs);
  for (const tool of declared) builder.add(tool);
  const { tools, toolByName, nameByKey } = builder;
  return {
    tools,
    translation: {
      upstreamNames: new Set(toolByName.keys()),
      schemas: collectToolSchemas(tools),
      findDeclared: (name) => toolByName.get(name),
    },
    getCallName: (tool) => {
      const offeredName =
        nameByKey.get(toToolKey(tool)) ?? nameByKey.get(toToolKey(withOtherKind(tool)));
      if (offeredName !== undefined) return offeredName;
      const name = toUpstreamName(tool);
      if (name !== toQualifiedName(tool))
        repairs.add("tool_renamed", `${toQualifiedName(tool)} -> ${name}`);
      return name;
    },
    findChosenNames: (choice) =>
      [...toolByName].filter(([, tool]) => matchesToolChoice(tool, choice)).map(([name]) => name),
  };
}

/** Returns the parameter schemas of the functions, by function name. */
export function collectToolSchemas(tools: readonly ChatTool[]): Map<string, JsonObject> {
  const schemas = new Map<string, JsonObject>();
  for (const tool of tools)
    if (tool.type === "function" && isObject(tool.function.parameters))
      schemas.set(tool.function.name, tool.function.parameters);
  return schemas;
}

/** Returns all tools that a request declares: in `tools`, in `additional_tools` items and in tool search results. */
export function collectDeclaredTools(request: ResponsesRequest): ResponseTool[] {
  const declared = [...(request.tools ?? [])];
  if (!Array.isArray(request.input)) return declared;
  for (const item of request.input)
    if (item.type === "additional_tools" || item.type === "tool_search_output")
      declared.push(...item.tools);
  return declared;
}

class ToolOfferBuilder {
  readonly tools: ChatTool[] = [];
  readonly toolByName = new Map<string, DeclaredTool>();
  readonly nameByKey = new Map<string, string>();
  readonly #schemaByKey = new Map<string, string>();
  readonly #profile: UpstreamProfile;
  readonly #repairs: Repairs;

  constructor(profile: UpstreamProfile, repairs: Repairs) {
    this.#profile = profile;
    this.#repairs = repairs;
  }

  add(tool: ResponseTool): void {
    switch (tool.type) {
      case "function":
        return this.#addFunction(tool);
      case "custom":
        return this.#addCustom(tool);
      case "namespace":
        return this.#addNamespace(tool.name, tool.description ?? "", tool.tools);
      case "tool_search":
        return this.#addToolSearch(tool);
      case "local_shell":
        return this.#addOffered({ kind: "local_shell" }, shellDescription, localShellParameters);
      case "shell":
        if (runsInContainer(tool)) return this.#dropTool(tool);
        return this.#addOffered({ kind: "shell" }, shellDescription, shellParameters);
      case "apply_patch":
        return this.#addOffered(
          { kind: "apply_patch" },
          applyPatchDescription,
          applyPatchParameters,
        );
      default:
        return this.#dropTool(tool);
    }
  }

  #addNamespace(namespace: string, groupDescription: string, tools: readonly ResponseTool[]): void {
    // Chat has no field for the description of a group, so it is added to the group's first tool.
    let introduction = groupDescription === "" ? "" : `${namespace}: ${groupDescription}`;
    for (const tool of tools) {
      if (tool.type !== "function" && tool.type !== "custom") {
        this.#dropTool(tool);
        continue;
      }
      const descriptionText = [introduction, tool.description].filter(nonEmptyString).join("\n\n");
      const toolWithIntroduction = { ...tool, description: descriptionText };
      introduction = "";
      if (toolWithIntroduction.type === "function")
        this.#addFunction(toolWithIntroduction, namespace);
      else this.#addCustom(toolWithIntroduction, namespace);
    }
  }

  #addFunction(tool: ResponseFunctionTool, namespace?: string): void {
    const declaredTool: DeclaredTool = {
      kind: "function",
      name: tool.name,
      ...toNamespaceField(namespace),
      ...this.#toAsyncField(tool),
    };
    const schema = toObjectSchema(tool.parameters);
    if (schema !== tool.parameters && !this.nameByKey.has(toToolKey(declaredTool)))
      this.#repairs.add("tool_schema_completed", tool.name);
    this.#addOffered(declaredTool, tool.description ?? "", schema, tool.strict === true);
  }

  #addCustom(tool: ResponseCustomTool, namespace?: string): void {
    const declaredTool: DeclaredTool = {
      kind: "custom",
      name: tool.name,
      ...toNamespaceField(namespace),
      ...this.#toAsyncField(tool),
    };
    if (this.#profile.customTools === "function")
      return this.#addOffered(declaredTool, buildCustomDescription(tool), customParameters);
    const name = this.#claimName(declaredTool);
    if (name === undefined) return;
    const { description, format } = tool;
    this.tools.push({
      type: "custom",
      custom: {
        name,
        ...(description ? { description } : {}),
        ...(format?.type === "grammar"
          ? {
              format: {
                type: "grammar",
                grammar: { syntax: format.syntax ?? "lark", definition: format.definition ?? "" },
              },
            }
          : {}),
      },
    });
  }

  /** Chat has no asynchronous tools: the model does not know which ones are, but their calls are returned as asynchronous. */
  #toAsyncField({ async, name }: ResponseFunctionTool | ResponseCustomTool): { async?: true } {
    if (async !== true) return {};
    this.#repairs.add("parameter_dropped", `tools[].async: ${name}`);
    return { async };
  }

  #addToolSearch(tool: ResponseToolSearchTool): void {
    // By default OpenAI runs the search. Then all tools that it could find are already declared.
    const isClientSearch = tool.execution === "client" || (!tool.execution && tool.parameters);
    if (!isClientSearch) return this.#dropTool(tool);
    this.#addOffered(
      { kind: "tool_search" },
      tool.description ?? toolSearchDescription,
      toObjectSchema(tool.parameters ?? toolSearchParameters),
    );
  }

  #addOffered(
    declaredTool: DeclaredTool,
    description: string,
    schema: JsonObject,
    strict = false,
  ): void {
    const name = this.#claimName(declaredTool);
    if (name === undefined) return this.#recordConflict(declaredTool, schema);
    this.#schemaByKey.set(toToolKey(declaredTool), JSON.stringify(schema));
    this.tools.push({
      type: "function",
      function: {
        name,
        ...(description === "" ? {} : { description }),
        parameters: schemaConverters[this.#profile.schemaDialect](schema),
        ...(strict && this.#profile.strictSchemas ? { strict } : {}),
      },
    });
  }

  /** The first of two declarations wins. A different second one is recorded as a repair. */
  #recordConflict(declaredTool: DeclaredTool, schema: JsonObject): void {
    if (this.#schemaByKey.get(toToolKey(declaredTool)) !== JSON.stringify(schema))
      this.#repairs.add(
        "tool_dropped",
        `${toQualifiedName(declaredTool)}, declared again with different parameters`,
      );
  }

  /** Returns a unique name, or undefined if the tool was declared before. */
  #claimName(declaredTool: DeclaredTool): string | undefined {
    const key = toToolKey(declaredTool);
    if (this.nameByKey.has(key)) return undefined;
    let name = toUpstreamName(declaredTool);
    for (let salt = 0; this.toolByName.has(name); salt++)
      name = createToolAlias(`${toUpstreamName(declaredTool)} ${key}${salt}`);
    if (name !== toQualifiedName(declaredTool))
      this.#repairs.add("tool_renamed", `${toQualifiedName(declaredTool)} -> ${name}`);
    this.toolByName.set(name, declaredTool);
    this.nameByKey.set(key, name);
    return name;
  }

  #dropTool(tool: JsonObject): void {
    const name = tool["name"] ?? tool["server_label"];
    const label = [tool["type"], name].filter((part) => typeof part === "string");
    this.#repairs.add("tool_dropped", label.join(" "));
  }
}

const schemaConverters: Record<
  UpstreamProfile["schemaDialect"],
  (schema: JsonObject) => JsonObject
> = {
  "json-schema": (schema) => schema,
  moonshot: toMoonshotSchema,
  gemini: toGeminiSchema,
};

function toToolKey(tool: DeclaredTool): string {
  if (tool.kind === "function" || tool.kind === "custom")
    return JSON.stringify([tool.kind, tool.namespace ?? null, tool.name]);
  return tool.kind;
}

/** The history may contain function calls of a tool that is declared as custom, and vice versa. */
function withOtherKind(tool: DeclaredTool): DeclaredTool {
  if (tool.kind === "function") return { ...tool, kind: "custom" };
  if (tool.kind === "custom") return { ...tool, kind: "function" };
  return tool;
}

function toUpstreamName(tool: DeclaredTool): string {
  if (tool.kind === "function" || tool.kind === "custom")
    return toUpstreamToolName(tool.name, tool.namespace);
  return tool.kind;
}

function toQualifiedName(tool: DeclaredTool): string {
  if (tool.kind === "function" || tool.kind === "custom")
    return tool.namespace === undefined ? tool.name : flattenToolName(tool.namespace, tool.name);
  return tool.kind;
}

function toNamespaceField(namespace: string | undefined): { namespace?: string } {
  return namespace ? { namespace } : {};
}

/** True if OpenAI runs the shell in a container. Otherwise the client runs it. */
function runsInContainer(tool: JsonObject): boolean {
  const environment = tool["environment"];
  const type = isObject(environment) ? nonEmptyString(environment["type"]) : undefined;
  return type?.startsWith("container") ?? false;
}

/** True if an entry of `tool_choice` selects the tool. */
export function matchesToolChoice(tool: DeclaredTool, choice: JsonObject): boolean {
  if (tool.kind !== "function" && tool.kind !== "custom") return choice["type"] === tool.kind;
  if (choice["type"] === "namespace") return tool.namespace === choice["name"];
  if (choice["type"] !== "function" && choice["type"] !== "custom") return false;
  // Clients select tools of a namespace with or without naming the namespace.
  const { name, namespace } = choice;
  if (typeof namespace === "string") return tool.name === name && tool.namespace === namespace;
  return tool.name === name || toQualifiedName(tool) === name;
}

// Descriptions and parameters of converted tools

function buildCustomDescription({ description, format }: ResponseCustomTool): string {
  const descriptionText = description ?? "";
  if (format?.type !== "grammar") return descriptionText;
  const syntax = format.syntax ?? "lark";
  const grammarText = `The value of "input" must match this ${syntax} grammar:\n${format.definition ?? ""}`;
  return descriptionText === "" ? grammarText : `${descriptionText}\n\n${grammarText}`;
}

const customParameters: JsonObject = {
  type: "object",
  properties: {
    input: { type: "string", description: "The complete input of the tool, as plain text." },
  },
  required: ["input"],
  additionalProperties: false,
};

const toolSearchDescription =
  "Finds additional tools. The tools that it returns can then be called.";

const toolSearchParameters: JsonObject = {
  type: "object",
  properties: { query: { type: "string", description: "What the tool should do." } },
  required: ["query"],
};

const shellDescription = "Runs commands on the user's machine and returns their output.";

const localShellParameters: JsonObject = {
  type: "object",
  properties: {
    command: {
      type: "array",
      items: { type: "string" },
      description: "The program and its arguments.",
    },
    working_directory: { type: "string", description: "The directory to run it in." },
    timeout_ms: { type: "number", description: "The time limit in milliseconds." },
  },
  required: ["command"],
};

const shellParameters: JsonObject = {
  type: "object",
  properties: {
    commands: {
      type: "array",
      items: { type: "string" },
      description: "Shell commands, which may run in parallel.",
    },
    timeout_ms: { type: "number", description: "The time limit in milliseconds." },
    max_output_length: {
      type: "number",
      description: "The maximum number of characters of output to return.",
    },
  },
  required: ["commands"],
};

const applyPatchDescription = "Creates, changes or deletes one file.";

const applyPatchParameters: JsonObject = {
  type: "object",
  properties: {
    type: { type: "string", enum: ["create_file", "update_file", "delete_file"] },
    path: {
      type: "string",
      description: "The path of the file, relative to the working directory.",
    },
    diff: {
      type: "string",
      description: "The changes as a V4A diff. For a new file: its lines, each prefixed with +.",
    },
  },
  required: ["type", "path"],
};
