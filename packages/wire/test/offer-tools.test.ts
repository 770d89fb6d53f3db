import {
  translateResponsesRequest,
  decodeResponsesRequest,
  genericProfile,
  withProfileFlags,
  type DeclaredTool,
  type UpstreamProfile,
  type TranslatedResponsesRequest,
} from "@deltawire/wire";
import fc from "fast-check";
import { expect, test } from "vitest";

test("every tool of a client is offered as a function, and calls are mapped back by name", () => {
  const offered = offerTools([
    { type: "function", name: "plain", description: "d", parameters: empty, strict: true },
    {
      type: "custom",
      name: "apply_patch",
      description: "Edits files.",
      format: { type: "grammar", syntax: "lark", definition: "start: /.+/s" },
    },
    {
      type: "namespace",
      name: "mcp__git",
      description: "Git.",
      tools: [
        { type: "function", name: "log", parameters: empty },
        { type: "custom", name: "raw", description: "Raw." },
      ],
    },
    { type: "tool_search", execution: "client" },
    { type: "local_shell" },
    { type: "shell", environment: { type: "local" } },
    { type: "apply_patch" },
  ]);
  const input = { type: "string", description: "The complete input of the tool, as plain text." };
  const freeForm = {
    type: "object",
    properties: { input },
    required: ["input"],
    additionalProperties: false,
  };
  expect(offered.body.tools?.slice(0, 4)).toEqual([
    {
      type: "function",
      function: { name: "plain", description: "d", parameters: empty, strict: true },
    },
    {
      type: "function",
      function: {
        name: "apply_patch",
        description:
          'Edits files.\n\nThe value of "input" must match this lark grammar:\nstart: /.+/s',
        parameters: freeForm,
      },
    },
    {
      type: "function",
      function: { name: "mcp__git__log", description: "mcp__git: Git.", parameters: empty },
    },
    {
      type: "function",
      function: { name: "mcp__git__raw", description: "Raw.", parameters: freeForm },
    },
  ]);
  // A custom tool already has the name apply_patch.
  const patchTool = offered.body.tools
    ?.flatMap((tool) => (tool.type === "function" ? [tool] : []))
    .at(-1);
  expect(patchTool?.function.name).toMatch(/^apply_patch_\w+$/);
  expect(getDeclarations(offered)).toEqual({
    plain: { kind: "function", name: "plain" },
    apply_patch: { kind: "custom", name: "apply_patch" },
    mcp__git__log: { kind: "function", name: "log", namespace: "mcp__git" },
    mcp__git__raw: { kind: "custom", name: "raw", namespace: "mcp__git" },
    tool_search: { kind: "tool_search" },
    local_shell: { kind: "local_shell" },
    shell: { kind: "shell" },
    [patchTool?.function.name ?? ""]: { kind: "apply_patch" },
  });
  expect(offered.tools.findDeclared("nobody")).toBeUndefined();
  expect(offered.repairs.list.map(({ code }) => code)).toEqual(["tool_renamed"]);
});

test("an upstream with native custom tools gets them unchanged", () => {
  const profile = withProfileFlags(genericProfile, { customTools: "native" });
  const tool = {
    type: "custom",
    name: "apply_patch",
    description: "Edits files.",
    format: { type: "grammar", syntax: "lark", definition: "start: /.+/s" },
  };
  expect(offerTools([tool], profile).body.tools).toEqual([
    {
      type: "custom",
      custom: {
        name: "apply_patch",
        description: "Edits files.",
        format: { type: "grammar", grammar: { syntax: "lark", definition: "start: /.+/s" } },
      },
    },
  ]);
});

test("hosted tools are dropped, each with a repair", () => {
  const offered = offerTools([
    { type: "web_search" },
    { type: "mcp", server_label: "docs" },
    { type: "tool_search" },
    { type: "namespace", name: "n", tools: [{ type: "image_generation" }] },
    { type: "shell", environment: { type: "container_auto" } },
  ]);
  expect(offered.body.tools).toBeUndefined();
  expect(offered.repairs.list.map(({ code, detail }) => [code, detail])).toEqual([
    ["tool_dropped", "web_search"],
    ["tool_dropped", "mcp docs"],
    ["tool_dropped", "tool_search"],
    ["tool_dropped", "image_generation"],
    ["tool_dropped", "shell"],
  ]);
});

test("a name that is too long or invalid becomes a readable prefix and a hash", () => {
  const long = "mcp__network_function_inventory_config_audit_agent__read_wiki_structure";
  const offered = offerTools([
    { type: "function", name: long, parameters: empty },
    { type: "function", name: "файл.open", parameters: empty },
  ]);
  expect(getDeclarations(offered)).toEqual({
    mcp__network_function_inventory_config_audit_agent__r_LXCWtxTUJt: {
      kind: "function",
      name: long,
    },
    _open_UJ0bW2VFB1: { kind: "function", name: "файл.open" },
  });
  expect(offered.repairs.counts.get("tool_renamed")).toBe(2);
});

test("a repeated tool is offered once, and different tools that would have the same name get different names", () => {
  const offered = offerTools([
    { type: "function", name: "a__b", parameters: empty },
    { type: "function", name: "a__b", parameters: empty, description: "again" },
    { type: "namespace", name: "a", tools: [{ type: "function", name: "b", parameters: empty }] },
    { type: "namespace", name: "a__", tools: [{ type: "function", name: "b", parameters: empty }] },
  ]);
  expect(offered.body.tools).toHaveLength(3);
  expect(Object.values(getDeclarations(offered))).toEqual([
    { kind: "function", name: "a__b" },
    { kind: "function", name: "b", namespace: "a" },
    { kind: "function", name: "b", namespace: "a__" },
  ]);
});

test("tools of additional_tools items and of tool search results are offered", () => {
  const { tools } = translate({
    tools: [{ type: "function", name: "a" }],
    input: [
      { type: "additional_tools", role: "developer", tools: [{ type: "function", name: "b" }] },
      { role: "user", content: "hi" },
      { type: "tool_search_output", call_id: "c", tools: [{ type: "function", name: "d" }] },
    ],
  });
  expect([...tools.upstreamNames]).toEqual(["a", "b", "d"]);
});

test("all tool names are unique, have at most 64 characters, and are the same in offers and calls", () => {
  const name = fc.oneof(
    fc.string({ maxLength: 90 }),
    fc.constantFrom("a", "b", "a__b", "a_", "b__a"),
  );
  const member = fc.record({ type: fc.constantFrom("function", "custom"), name });
  const group = fc.record({ type: fc.constant("namespace"), name, tools: fc.array(member) });
  fc.assert(
    fc.property(fc.array(fc.oneof(member, group)), (tools) => {
      const offered = offerTools(tools);
      const names = getOfferedNames(offered);
      expect(new Set(names)).toEqual(offered.tools.upstreamNames);
      expect(new Set(names).size).toBe(names.length);
      for (const upstreamName of names) expect(upstreamName).toMatch(/^[A-Za-z0-9_-]{1,64}$/);

      const calls = names.map((upstreamName, index) =>
        createCallItem(offered.tools.findDeclared(String(upstreamName)), `call_${index}`),
      );
      const nextRequest = translate({ tools, input: [{ role: "user", content: "hi" }, ...calls] });
      expect(getOfferedNames(nextRequest)).toEqual(names);
      expect(getCalledNames(nextRequest)).toEqual(names);
    }),
  );
});

const empty = { type: "object", properties: {} };

function offerTools(
  tools: object[],
  profile: UpstreamProfile = genericProfile,
): TranslatedResponsesRequest {
  return translate({ input: "hi", tools }, profile);
}

function translate(
  request: object,
  profile: UpstreamProfile = genericProfile,
): TranslatedResponsesRequest {
  return translateResponsesRequest(decodeResponsesRequest({ model: "m", ...request }), { profile });
}

function getDeclarations({
  tools,
}: TranslatedResponsesRequest): Record<string, DeclaredTool | undefined> {
  return Object.fromEntries(
    [...tools.upstreamNames].map((name) => [name, tools.findDeclared(name)]),
  );
}

function getOfferedNames({ body }: TranslatedResponsesRequest): unknown[] {
  return (body.tools ?? []).map((tool) => tool.type === "function" && tool.function.name);
}

function getCalledNames({ body }: TranslatedResponsesRequest): unknown[] {
  return body.messages.flatMap((message) =>
    message.role === "assistant"
      ? (message.tool_calls ?? []).map((call) => call.type === "function" && call.function.name)
      : [],
  );
}

function createCallItem(tool: DeclaredTool | undefined, id: string): object {
  return tool?.kind === "custom"
    ? { ...tool, type: "custom_tool_call", call_id: id, input: "" }
    : { ...tool, type: "function_call", call_id: id, arguments: "{}" };
}
