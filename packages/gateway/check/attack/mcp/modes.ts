/* What an MCP server may do wrong. Each mode overrides some methods; the others reply correctly. */

export interface McpRequest {
  id?: number | string;
  method: string;
  params?: Record<string, unknown>;
}

/** A JSON-RPC message as text, or what happens instead of one. Undefined: the correct reply. */
type McpAnswer = string | readonly string[] | undefined;

/** Invalid replies. */
export const silence = "silence";
export const crash = "crash";

export interface McpMode {
  name: string;
  answer(request: McpRequest): McpAnswer;
  /** The arguments of the tool call; default `{}`. */
  input?: unknown;
  /** True: also on standard input and output. */
  stdio?: boolean;
  /** True: it takes as long as a server may take to start. */
  slow?: boolean;
}

function formatResult({ id }: McpRequest, result: unknown): string {
  return JSON.stringify({ jsonrpc: "2.0", id, result });
}

/** Returns the reply of a correct server. Undefined for a notification. */
export function createCorrectReply(request: McpRequest): string | undefined {
  if (request.id === undefined) return undefined;
  switch (request.method) {
    case "initialize":
      return formatResult(request, {
        protocolVersion: request.params?.["protocolVersion"],
        capabilities: { tools: {} },
        serverInfo: { name: "look", version: "1" },
      });
    case "tools/list":
      return formatResult(request, { tools: [buildTool()] });
    case "tools/call":
      return formatResult(request, { content: [{ type: "text", text: "seen" }] });
    default:
      return JSON.stringify({
        jsonrpc: "2.0",
        id: request.id,
        error: { code: -32601, message: "no such method" },
      });
  }
}

function buildTool(overrides: object = {}): object {
  return {
    name: "look",
    inputSchema: { type: "object" },
    annotations: { readOnlyHint: true },
    ...overrides,
  };
}

/** Creates a mode that overrides one method. */
function overrideMethod(
  method: string,
  name: string,
  answer: (request: McpRequest) => McpAnswer,
  overrides: Partial<McpMode> = {},
): McpMode {
  return {
    name,
    answer: (request) => (request.method === method ? answer(request) : undefined),
    ...overrides,
  };
}

function createResultMode(
  name: string,
  result: () => unknown,
  overrides: Partial<McpMode> = {},
): McpMode {
  return overrideMethod(
    "tools/call",
    name,
    (request) => formatResult(request, result()),
    overrides,
  );
}

function createSchemaMode(name: string, schema: () => object, input: unknown = {}): McpMode {
  return overrideMethod(
    "tools/list",
    name,
    (request) => formatResult(request, { tools: [buildTool({ inputSchema: schema() })] }),
    { input },
  );
}

const buildContent = (parts: readonly object[]): object => ({ content: parts });
const buildTextPart = (text: string): object => ({ type: "text", text });
const buildNested = (levels: number, open: string, close: string): string =>
  `${open.repeat(levels)}1${close.repeat(levels)}`;

/** Builds a schema in which each level refers twice to the level below. */
function buildDoublingSchema(levels: number, join: (lower: object) => object): object {
  const $defs: Record<string, object> = { l0: { type: "string" } };
  for (let level = 1; level <= levels; level += 1)
    $defs[`l${level}`] = join({ $ref: `#/$defs/l${level - 1}` });
  return { type: "object", properties: { a: { $ref: `#/$defs/l${levels}` } }, $defs };
}

export const mcpModes: readonly McpMode[] = [
  overrideMethod("initialize", "an MCP server that never answers", () => silence, {
    stdio: true,
    slow: true,
  }),
  overrideMethod("initialize", "an MCP server that ends immediately", () => crash, { stdio: true }),
  overrideMethod(
    "initialize",
    "an MCP server that replies with text instead of JSON",
    () => "hello, this is a banner",
    {
      stdio: true,
      slow: true,
    },
  ),
  overrideMethod(
    "initialize",
    "an MCP server that answers with half a message",
    () => '{"jsonrpc":"2.0","id":0,"resu',
    { stdio: true, slow: true },
  ),
  overrideMethod("initialize", "an MCP server of an unknown version", (request) =>
    formatResult(request, {
      protocolVersion: "9999-99-99",
      capabilities: {},
      serverInfo: { name: "x", version: "1" },
    }),
  ),
  overrideMethod("initialize", "an MCP server whose answer to initialize is null", (request) =>
    formatResult(request, null),
  ),
  overrideMethod(
    "initialize",
    "an MCP server with instructions of 20 MB",
    (request) =>
      formatResult(request, {
        protocolVersion: request.params?.["protocolVersion"],
        capabilities: { tools: {} },
        serverInfo: { name: "x", version: "1" },
        instructions: "i".repeat(20_000_000),
      }),
    { stdio: true },
  ),
  overrideMethod("tools/list", "an MCP server whose list of tools never ends", (request) =>
    formatResult(request, {
      tools: [buildTool({ name: `t${Math.random()}` })],
      nextCursor: "more",
    }),
  ),
  overrideMethod("tools/list", "an MCP server with 20,000 tools", (request) =>
    formatResult(request, {
      tools: Array.from({ length: 20_000 }, (_, index) => buildTool({ name: `tool_${index}` })),
    }),
  ),
  overrideMethod("tools/list", "an MCP server with odd tools", (request) =>
    formatResult(request, {
      tools: [
        null,
        1,
        {},
        { name: "" },
        buildTool({ name: "__proto__" }),
        buildTool({ name: "a b/c\u0000" }),
        buildTool({ name: "n".repeat(100_000) }),
        buildTool({ inputSchema: null }),
        buildTool({ description: 7 }),
        buildTool(),
      ],
    }),
  ),
  overrideMethod("tools/list", "a tool with a description of 10 MB", (request) =>
    formatResult(request, { tools: [buildTool({ description: "d".repeat(10_000_000) })] }),
  ),
  overrideMethod("tools/list", "an MCP server that never lists its tools", () => silence, {
    slow: true,
  }),
  createSchemaMode(
    "a schema of 22 levels of allOf and $ref",
    () => buildDoublingSchema(22, (lower) => ({ allOf: [lower, lower] })),
    { a: 1 },
  ),
  createSchemaMode(
    "a schema of 22 levels of anyOf and $ref",
    () => buildDoublingSchema(22, (lower) => ({ anyOf: [lower, lower] })),
    { a: 1 },
  ),
  createSchemaMode(
    "a schema of 22 levels of properties and $ref",
    () =>
      buildDoublingSchema(22, (lower) => ({ type: "object", properties: { a: lower, b: lower } })),
    { a: { a: 1 } },
  ),
  createSchemaMode(
    "a schema whose patternProperties backtrack",
    () => ({ type: "object", patternProperties: { "^(a+)+$": { type: "string" } } }),
    { [`${"a".repeat(40)}!`]: "x" },
  ),
  createSchemaMode(
    "a schema whose pattern backtracks",
    () => ({ type: "object", properties: { a: { type: "string", pattern: "^(a+)+$" } } }),
    { a: `${"a".repeat(40)}!` },
  ),
  createSchemaMode(
    "a schema with 20,000 patternProperties",
    () => ({
      type: "object",
      patternProperties: Object.fromEntries(
        Array.from({ length: 20_000 }, (_, index) => [`^p${index}`, { type: "string" }]),
      ),
    }),
    Object.fromEntries(Array.from({ length: 2000 }, (_, index) => [`p${index}`, "x"])),
  ),
  createSchemaMode(
    "a schema that refers to itself",
    () => ({ type: "object", properties: { a: { $ref: "#" } }, allOf: [{ $ref: "#" }] }),
    { a: { a: {} } },
  ),
  createSchemaMode(
    "a schema that refers to nothing",
    () => ({
      type: "object",
      properties: { a: { $ref: "#/nowhere" }, b: { $ref: "https://example.org/schema" } },
    }),
    { a: 1 },
  ),
  createSchemaMode("a schema of 100,000 properties", () => ({
    type: "object",
    properties: Object.fromEntries(
      Array.from({ length: 100_000 }, (_, index) => [`p${index}`, { type: "string" }]),
    ),
  })),
  createSchemaMode(
    "a schema with unique items of 20,000",
    () => ({ type: "object", properties: { a: { type: "array", uniqueItems: true } } }),
    { a: Array.from({ length: 20_000 }, (_, index) => ({ at: index })) },
  ),
  createSchemaMode(
    "a schema with an enum of 100,000",
    () => ({
      type: "object",
      properties: { a: { enum: Array.from({ length: 100_000 }, (_, index) => ({ at: index })) } },
    }),
    { a: "x" },
  ),
  overrideMethod(
    "tools/list",
    "a schema nested 20,000 deep",
    (request) =>
      `{"jsonrpc":"2.0","id":${request.id},"result":{"tools":[{"name":"look","inputSchema":{"type":"object","properties":${buildNested(20_000, '{"a":', "}")}}}]}}`,
  ),
  createResultMode("a result of 200,000 parts", () =>
    buildContent(Array.from({ length: 200_000 }, () => buildTextPart("x"))),
  ),
  createResultMode("a result of 20,000 images", () =>
    buildContent(
      Array.from({ length: 20_000 }, () => ({
        type: "image",
        data: "AAAA",
        mimeType: "image/png",
      })),
    ),
  ),
  createResultMode("a resource whose URI has 120,000 slashes", () =>
    buildContent([
      { type: "resource", resource: { uri: `https://x${"/".repeat(120_000)}`, text: "x" } },
    ]),
  ),
  createResultMode("a link whose URI has 120,000 slashes", () =>
    buildContent([{ type: "resource_link", uri: `https://x${"/".repeat(120_000)}`, name: "x" }]),
  ),
  createResultMode("a result with odd URIs", () =>
    buildContent(
      [
        "",
        ":",
        "//",
        "javascript:x",
        "http://[",
        `https://${"a.".repeat(50_000)}`,
        `https://x/?${"a=b&".repeat(50_000)}`,
        `https://x/#${"%".repeat(100_000)}`,
      ].map((uri) => ({ type: "resource", resource: { uri, text: "x" } })),
    ),
  ),
  createResultMode(
    "a result of 30 MB of text",
    () => buildContent([buildTextPart("t".repeat(30_000_000))]),
    {
      stdio: true,
    },
  ),
  createResultMode("a result of 500,000 lines", () =>
    buildContent([buildTextPart("line\n".repeat(500_000))]),
  ),
  createResultMode("a result of 240,000 backslashes", () =>
    buildContent([buildTextPart("\\".repeat(240_000))]),
  ),
  createResultMode("a result of a million braces", () =>
    buildContent([buildTextPart("{{".repeat(500_000))]),
  ),
  createResultMode("a result of 100,000 references to variables", () =>
    buildContent([buildTextPart("{{var:a}}".repeat(100_000))]),
  ),
  createResultMode("an image of 30 MB", () =>
    buildContent([{ type: "image", data: "A".repeat(30_000_000), mimeType: "image/png" }]),
  ),
  createResultMode("an image that is not base64", () =>
    buildContent([{ type: "image", data: "####", mimeType: "\u0000" }]),
  ),
  createResultMode("odd parts of a result", () =>
    buildContent([
      null,
      1,
      "x",
      {},
      { type: "text" },
      { type: "video" },
      { type: "resource" },
      { type: "image" },
    ] as object[]),
  ),
  createResultMode("a result without content", () => ({})),
  createResultMode("a result whose content is a text", () => ({ content: "x" })),
  createResultMode("an error of 10 MB", () => ({
    isError: true,
    content: [buildTextPart("e".repeat(10_000_000))],
  })),
  createResultMode("structured content of 300,000 fields", () => ({
    content: [],
    structuredContent: Object.fromEntries(
      Array.from({ length: 300_000 }, (_, index) => [`f${index}`, index]),
    ),
  })),
  overrideMethod(
    "tools/call",
    "structured content nested 20,000 deep",
    (request) =>
      `{"jsonrpc":"2.0","id":${request.id},"result":{"content":[],"structuredContent":{"a":${buildNested(20_000, "[", "]")}}}}`,
  ),
  overrideMethod("tools/call", "a call that is never answered", () => silence, { stdio: true }),
  overrideMethod("tools/call", "a call that ends the server", () => crash, { stdio: true }),
  overrideMethod(
    "tools/call",
    "a call that is answered under another id",
    (request) =>
      JSON.stringify({
        jsonrpc: "2.0",
        id: 987_654,
        result: { content: [], method: request.method },
      }),
    { stdio: true },
  ),
  overrideMethod(
    "tools/call",
    "a call that is answered a thousand times",
    (request) =>
      Array<string>(1000).fill(formatResult(request, buildContent([buildTextPart("x")]))),
    { stdio: true },
  ),
  overrideMethod(
    "tools/call",
    "20,000 notifications before the answer",
    (request) => [
      ...Array<string>(20_000).fill(
        '{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"x"}}',
      ),
      formatResult(request, buildContent([buildTextPart("x")])),
    ],
    { stdio: true },
  ),
  overrideMethod(
    "tools/call",
    "20,000 changes of the list of tools before the answer",
    (request) => [
      ...Array<string>(20_000).fill(
        '{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}',
      ),
      formatResult(request, buildContent([buildTextPart("x")])),
    ],
    { stdio: true },
  ),
  overrideMethod(
    "tools/call",
    "a thousand requests from the server",
    (request) => [
      ...Array.from(
        { length: 1000 },
        (_, index) =>
          `{"jsonrpc":"2.0","id":"s${index}","method":"sampling/createMessage","params":{}}`,
      ),
      formatResult(request, buildContent([buildTextPart("x")])),
    ],
    { stdio: true },
  ),
  overrideMethod(
    "tools/call",
    "messages that are not JSON-RPC before the answer",
    (request) => [
      "[]",
      "{}",
      "1",
      "null",
      '{"jsonrpc":"1.0"}',
      '{"id":{}}',
      '{"jsonrpc":"2.0","result":1}',
      "\u0000",
      formatResult(request, buildContent([buildTextPart("x")])),
    ],
    { stdio: true },
  ),
  overrideMethod("tools/call", "an error of JSON-RPC with odd fields", (request) =>
    JSON.stringify({
      jsonrpc: "2.0",
      id: request.id,
      error: { code: "x", message: null, data: { a: "d".repeat(1_000_000) } },
    }),
  ),
  overrideMethod(
    "tools/call",
    "a message nested 100,000 deep",
    () => `{"jsonrpc":"2.0","id":1,"result":${buildNested(100_000, "[", "]")}}`,
    { stdio: true },
  ),
  overrideMethod("tools/call", "a line of 50 MB that is not JSON", () => "x".repeat(50_000_000), {
    stdio: true,
  }),
];
