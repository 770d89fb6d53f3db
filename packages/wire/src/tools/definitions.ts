import { isObject, nonEmptyString, type JsonObject } from "../json.ts";
import type { Profile } from "../profiles.ts";
import type { Repairs } from "../repairs.ts";
import type { ChatTool } from "../shapes/chat-request.ts";
import type {
  CustomTool,
  FunctionTool,
  ResponsesRequest,
  Tool,
  ToolSearchTool,
} from "../shapes/responses-request.ts";
import type { DeclaredTool, ToolBridge } from "./bridge.ts";
import { geminiSchema } from "./gemini-schema.ts";
import { alias, flatName, upstreamName } from "./names.ts";
import { moonshotSchema, objectSchema } from "./schema.ts";

export interface OfferedTools {
  tools: ChatTool[];
  bridge: ToolBridge;
  /** The name that a call in the history gets, also where its tool is no longer declared. */
  callName(tool: DeclaredTool): string;
  /** The offered names that one entry of a tool_choice means; none for tools that were not offered. */
  chosen(choice: JsonObject): string[];
}

/** Offers what a Responses client declared to a Chat upstream, which knows functions (and perhaps custom tools). */
export function offerTools(
  declared: readonly Tool[],
  profile: Profile,
  repairs: Repairs,
): OfferedTools {
  const offer = new Offer(profile, repairs);
  for (const tool of declared) offer.add(tool);
  const { tools, byName, nameByKey } = offer;
  return {
    tools,
    bridge: {
      upstreamNames: new Set(byName.keys()),
      schemas: toolSchemas(tools),
      declared: (name) => byName.get(name),
    },
    callName: (tool) => {
      const declared = nameByKey.get(keyOf(tool)) ?? nameByKey.get(keyOf(otherKind(tool)));
      if (declared !== undefined) return declared;
      const name = plainName(tool);
      if (name !== wholeName(tool)) repairs.add("tool_renamed", `${wholeName(tool)} -> ${name}`);
      return name;
    },
    chosen: (choice) =>
      [...byName].filter(([, tool]) => isMeant(tool, choice)).map(([name]) => name),
  };
}

/** The parameters of the functions among these tools, by name. */
export function toolSchemas(tools: readonly ChatTool[]): Map<string, JsonObject> {
  const schemas = new Map<string, JsonObject>();
  for (const tool of tools)
    if (tool.type === "function" && isObject(tool.function.parameters))
      schemas.set(tool.function.name, tool.function.parameters);
  return schemas;
}

/** Everything a request declares: its tools, those of `additional_tools` items, and those that a tool search found. */
export function declaredTools(request: ResponsesRequest): Tool[] {
  const declared = [...(request.tools ?? [])];
  if (!Array.isArray(request.input)) return declared;
  for (const item of request.input)
    if (item.type === "additional_tools" || item.type === "tool_search_output")
      declared.push(...item.tools);
  return declared;
}

class Offer {
  readonly tools: ChatTool[] = [];
  readonly byName = new Map<string, DeclaredTool>();
  readonly nameByKey = new Map<string, string>();
  readonly #schemas = new Map<string, string>();
  readonly #profile: Profile;
  readonly #repairs: Repairs;

  constructor(profile: Profile, repairs: Repairs) {
    this.#profile = profile;
    this.#repairs = repairs;
  }

  add(tool: Tool): void {
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
        return this.#offer({ kind: "local_shell" }, shellDescription, localShellParameters);
      case "shell":
        if (runsInAContainer(tool)) return this.#drop(tool);
        return this.#offer({ kind: "shell" }, shellDescription, shellParameters);
      case "apply_patch":
        return this.#offer({ kind: "apply_patch" }, applyPatchDescription, applyPatchParameters);
      default:
        return this.#drop(tool);
    }
  }

  #addNamespace(namespace: string, group: string, tools: readonly Tool[]): void {
    // A Chat tool list has no place for what is said of the whole group: its first member carries it.
    let introduction = group === "" ? "" : `${namespace}: ${group}`;
    for (const tool of tools) {
      if (tool.type !== "function" && tool.type !== "custom") {
        this.#drop(tool);
        continue;
      }
      const about = [introduction, tool.description].filter(nonEmptyString).join("\n\n");
      const introduced = { ...tool, description: about };
      introduction = "";
      if (introduced.type === "function") this.#addFunction(introduced, namespace);
      else this.#addCustom(introduced, namespace);
    }
  }

  #addFunction(tool: FunctionTool, namespace?: string): void {
    const place: DeclaredTool = { kind: "function", name: tool.name, ...spaced(namespace) };
    const schema = objectSchema(tool.parameters);
    if (schema !== tool.parameters && !this.nameByKey.has(keyOf(place)))
      this.#repairs.add("tool_schema_completed", tool.name);
    this.#offer(place, tool.description ?? "", schema, tool.strict === true);
  }

  #addCustom(tool: CustomTool, namespace?: string): void {
    const place: DeclaredTool = { kind: "custom", name: tool.name, ...spaced(namespace) };
    if (this.#profile.customTools === "function")
      return this.#offer(place, customDescription(tool), customParameters);
    const name = this.#claim(place);
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

  #addToolSearch(tool: ToolSearchTool): void {
    // OpenAI's default is a search by the server. Then every tool it would find is declared already.
    const byClient = tool.execution === "client" || (!tool.execution && tool.parameters);
    if (!byClient) return this.#drop(tool);
    this.#offer(
      { kind: "tool_search" },
      tool.description ?? toolSearchDescription,
      objectSchema(tool.parameters ?? toolSearchParameters),
    );
  }

  #offer(place: DeclaredTool, description: string, schema: JsonObject, strict = false): void {
    const name = this.#claim(place);
    if (name === undefined) return this.#compare(place, schema);
    this.#schemas.set(keyOf(place), JSON.stringify(schema));
    this.tools.push({
      type: "function",
      function: {
        name,
        ...(description === "" ? {} : { description }),
        parameters: schemaFlavours[this.#profile.schemaFlavour](schema),
        ...(strict && this.#profile.strictSchemas ? { strict } : {}),
      },
    });
  }

  /** Of a tool that is declared twice the first counts; that the second was another one must be seen. */
  #compare(place: DeclaredTool, schema: JsonObject): void {
    if (this.#schemas.get(keyOf(place)) !== JSON.stringify(schema))
      this.#repairs.add(
        "tool_dropped",
        `${wholeName(place)}, declared again with other parameters`,
      );
  }

  /** A name of its own for a tool, or undefined for one that was declared before. */
  #claim(place: DeclaredTool): string | undefined {
    const key = keyOf(place);
    if (this.nameByKey.has(key)) return undefined;
    let name = plainName(place);
    for (let salt = 0; this.byName.has(name); salt++)
      name = alias(`${plainName(place)} ${key}${salt}`);
    if (name !== wholeName(place))
      this.#repairs.add("tool_renamed", `${wholeName(place)} -> ${name}`);
    this.byName.set(name, place);
    this.nameByKey.set(key, name);
    return name;
  }

  #drop(tool: JsonObject): void {
    const name = tool["name"] ?? tool["server_label"];
    const said = [tool["type"], name].filter((word) => typeof word === "string");
    this.#repairs.add("tool_dropped", said.join(" "));
  }
}

const schemaFlavours: Record<Profile["schemaFlavour"], (schema: JsonObject) => JsonObject> = {
  "json-schema": (schema) => schema,
  moonshot: moonshotSchema,
  gemini: geminiSchema,
};

function keyOf(tool: DeclaredTool): string {
  if (tool.kind === "function" || tool.kind === "custom")
    return JSON.stringify([tool.kind, tool.namespace ?? null, tool.name]);
  return tool.kind;
}

/** A client may know a call as a function whose tool was declared as custom, or the other way. */
function otherKind(tool: DeclaredTool): DeclaredTool {
  if (tool.kind === "function") return { ...tool, kind: "custom" };
  if (tool.kind === "custom") return { ...tool, kind: "function" };
  return tool;
}

function plainName(tool: DeclaredTool): string {
  if (tool.kind === "function" || tool.kind === "custom")
    return upstreamName(tool.name, tool.namespace);
  return tool.kind;
}

function wholeName(tool: DeclaredTool): string {
  if (tool.kind === "function" || tool.kind === "custom")
    return tool.namespace === undefined ? tool.name : flatName(tool.namespace, tool.name);
  return tool.kind;
}

function spaced(namespace: string | undefined): { namespace?: string } {
  return namespace ? { namespace } : {};
}

/** A shell with a hosted environment is run by OpenAI, any other one by the client. */
function runsInAContainer(tool: JsonObject): boolean {
  const environment = tool["environment"];
  const type = isObject(environment) ? nonEmptyString(environment["type"]) : undefined;
  return type?.startsWith("container") ?? false;
}

function isMeant(tool: DeclaredTool, choice: JsonObject): boolean {
  if (tool.kind !== "function" && tool.kind !== "custom") return choice["type"] === tool.kind;
  if (choice["type"] === "namespace") return tool.namespace === choice["name"];
  if (choice["type"] !== "function" && choice["type"] !== "custom") return false;
  // Clients name a tool inside a namespace with or without saying which.
  const { name, namespace } = choice;
  if (typeof namespace === "string") return tool.name === name && tool.namespace === namespace;
  return tool.name === name || wholeName(tool) === name;
}

// What the bridged tools say of themselves

function customDescription({ description, format }: CustomTool): string {
  const about = description ?? "";
  if (format?.type !== "grammar") return about;
  const syntax = format.syntax ?? "lark";
  const rule = `The value of "input" must match this ${syntax} grammar:\n${format.definition ?? ""}`;
  return about === "" ? rule : `${about}\n\n${rule}`;
}

const customParameters: JsonObject = {
  type: "object",
  properties: {
    input: { type: "string", description: "The whole input of the tool, as plain text." },
  },
  required: ["input"],
  additionalProperties: false,
};

const toolSearchDescription = "Finds further tools. The tools found can be called from then on.";

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
    working_directory: { type: "string", description: "The folder to run it in." },
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
      description: "Shell commands, which may run side by side.",
    },
    timeout_ms: { type: "number", description: "The time limit in milliseconds." },
    max_output_length: { type: "number", description: "How many characters of output to return." },
  },
  required: ["commands"],
};

const applyPatchDescription = "Creates, changes or deletes one file.";

const applyPatchParameters: JsonObject = {
  type: "object",
  properties: {
    type: { type: "string", enum: ["create_file", "update_file", "delete_file"] },
    path: { type: "string", description: "The file, relative to the working folder." },
    diff: {
      type: "string",
      description: "What changes, as a V4A diff; for a new file, its lines with + in front.",
    },
  },
  required: ["type", "path"],
};
