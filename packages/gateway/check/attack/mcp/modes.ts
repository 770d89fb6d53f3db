/* What a server of tools may do wrong. Each mode answers some methods in its own way, and the others as it should. */

export interface McpRequest {
  id?: number | string;
  method: string;
  params?: Record<string, unknown>;
}

/** A JSON-RPC message as text, or what happens instead of one; undefined: the usual answer. */
type McpAnswer = string | readonly string[] | undefined;

/** Answers that are none. */
export const silence = "silence";
export const crash = "crash";

export interface McpMode {
  name: string;
  answer(request: McpRequest): McpAnswer;
  /** What the model passes to the tool; `{}` unless given. */
  input?: unknown;
  /** True: on standard input and output too. */
  stdio?: boolean;
  /** True: it takes as long as a server may take to start. */
  slow?: boolean;
}

function resultText({ id }: McpRequest, result: unknown): string {
  return JSON.stringify({ jsonrpc: "2.0", id, result });
}

/** What a server that is in order answers. */
export function usualAnswer(request: McpRequest): string | undefined {
  if (request.id === undefined) return undefined;
  switch (request.method) {
    case "initialize":
      return resultText(request, {
        protocolVersion: request.params?.["protocolVersion"],
        capabilities: { tools: {} },
        serverInfo: { name: "look", version: "1" },
      });
    case "tools/list":
      return resultText(request, { tools: [tool()] });
    case "tools/call":
      return resultText(request, { content: [{ type: "text", text: "seen" }] });
    default:
      return JSON.stringify({
        jsonrpc: "2.0",
        id: request.id,
        error: { code: -32601, message: "no such method" },
      });
  }
}

function tool(more: object = {}): object {
  return {
    name: "look",
    inputSchema: { type: "object" },
    annotations: { readOnlyHint: true },
    ...more,
  };
}

/** A mode that answers one method differently. */
function on(
  method: string,
  name: string,
  answer: (request: McpRequest) => McpAnswer,
  more: Partial<McpMode> = {},
): McpMode {
  return { name, answer: (one) => (one.method === method ? answer(one) : undefined), ...more };
}

function results(name: string, result: () => unknown, more: Partial<McpMode> = {}): McpMode {
  return on("tools/call", name, (request) => resultText(request, result()), more);
}

function schemas(name: string, schema: () => object, input: unknown = {}): McpMode {
  return on(
    "tools/list",
    name,
    (request) => resultText(request, { tools: [tool({ inputSchema: schema() })] }),
    { input },
  );
}

const content = (parts: readonly object[]): object => ({ content: parts });
const text = (words: string): object => ({ type: "text", text: words });
const nested = (levels: number, open: string, close: string): string =>
  `${open.repeat(levels)}1${close.repeat(levels)}`;

/** Each level refers twice to the one below. */
function doubling(levels: number, join: (below: object) => object): object {
  const $defs: Record<string, object> = { l0: { type: "string" } };
  for (let level = 1; level <= levels; level += 1)
    $defs[`l${level}`] = join({ $ref: `#/$defs/l${level - 1}` });
  return { type: "object", properties: { a: { $ref: `#/$defs/l${levels}` } }, $defs };
}

export const mcpModes: readonly McpMode[] = [
  on("initialize", "an MCP server that never answers", () => silence, { stdio: true, slow: true }),
  on("initialize", "an MCP server that ends at once", () => crash, { stdio: true }),
  on("initialize", "an MCP server that answers with no JSON", () => "hello, this is a banner", {
    stdio: true,
    slow: true,
  }),
  on(
    "initialize",
    "an MCP server that answers with half a message",
    () => '{"jsonrpc":"2.0","id":0,"resu',
    { stdio: true, slow: true },
  ),
  on("initialize", "an MCP server of an unknown version", (request) =>
    resultText(request, {
      protocolVersion: "9999-99-99",
      capabilities: {},
      serverInfo: { name: "x", version: "1" },
    }),
  ),
  on("initialize", "an MCP server whose answer to initialize is null", (request) =>
    resultText(request, null),
  ),
  on(
    "initialize",
    "an MCP server with instructions of 20 MB",
    (request) =>
      resultText(request, {
        protocolVersion: request.params?.["protocolVersion"],
        capabilities: { tools: {} },
        serverInfo: { name: "x", version: "1" },
        instructions: "i".repeat(20_000_000),
      }),
    { stdio: true },
  ),
  on("tools/list", "an MCP server whose list of tools never ends", (request) =>
    resultText(request, { tools: [tool({ name: `t${Math.random()}` })], nextCursor: "more" }),
  ),
  on("tools/list", "an MCP server with 20,000 tools", (request) =>
    resultText(request, {
      tools: Array.from({ length: 20_000 }, (_, at) => tool({ name: `tool_${at}` })),
    }),
  ),
  on("tools/list", "an MCP server with odd tools", (request) =>
    resultText(request, {
      tools: [
        null,
        1,
        {},
        { name: "" },
        tool({ name: "__proto__" }),
        tool({ name: "a b/c\u0000" }),
        tool({ name: "n".repeat(100_000) }),
        tool({ inputSchema: null }),
        tool({ description: 7 }),
        tool(),
      ],
    }),
  ),
  on("tools/list", "a tool with a description of 10 MB", (request) =>
    resultText(request, { tools: [tool({ description: "d".repeat(10_000_000) })] }),
  ),
  on("tools/list", "an MCP server that never lists its tools", () => silence, { slow: true }),
  schemas(
    "a schema of 22 levels of allOf and $ref",
    () => doubling(22, (below) => ({ allOf: [below, below] })),
    { a: 1 },
  ),
  schemas(
    "a schema of 22 levels of anyOf and $ref",
    () => doubling(22, (below) => ({ anyOf: [below, below] })),
    { a: 1 },
  ),
  schemas(
    "a schema of 22 levels of properties and $ref",
    () => doubling(22, (below) => ({ type: "object", properties: { a: below, b: below } })),
    { a: { a: 1 } },
  ),
  schemas(
    "a schema whose patternProperties backtrack",
    () => ({ type: "object", patternProperties: { "^(a+)+$": { type: "string" } } }),
    { [`${"a".repeat(40)}!`]: "x" },
  ),
  schemas(
    "a schema whose pattern backtracks",
    () => ({ type: "object", properties: { a: { type: "string", pattern: "^(a+)+$" } } }),
    { a: `${"a".repeat(40)}!` },
  ),
  schemas(
    "a schema with 20,000 patternProperties",
    () => ({
      type: "object",
      patternProperties: Object.fromEntries(
        Array.from({ length: 20_000 }, (_, at) => [`^p${at}`, { type: "string" }]),
      ),
    }),
    Object.fromEntries(Array.from({ length: 2000 }, (_, at) => [`p${at}`, "x"])),
  ),
  schemas(
    "a schema that refers to itself",
    () => ({ type: "object", properties: { a: { $ref: "#" } }, allOf: [{ $ref: "#" }] }),
    { a: { a: {} } },
  ),
  schemas(
    "a schema that refers to nothing",
    () => ({
      type: "object",
      properties: { a: { $ref: "#/nowhere" }, b: { $ref: "https://example.org/schema" } },
    }),
    { a: 1 },
  ),
  schemas("a schema of 100,000 properties", () => ({
    type: "object",
    properties: Object.fromEntries(
      Array.from({ length: 100_000 }, (_, at) => [`p${at}`, { type: "string" }]),
    ),
  })),
  schemas(
    "a schema with unique items of 20,000",
    () => ({ type: "object", properties: { a: { type: "array", uniqueItems: true } } }),
    { a: Array.from({ length: 20_000 }, (_, at) => ({ at })) },
  ),
  schemas(
    "a schema with an enum of 100,000",
    () => ({
      type: "object",
      properties: { a: { enum: Array.from({ length: 100_000 }, (_, at) => ({ at })) } },
    }),
    { a: "x" },
  ),
  on(
    "tools/list",
    "a schema nested 20,000 deep",
    (request) =>
      `{"jsonrpc":"2.0","id":${request.id},"result":{"tools":[{"name":"look","inputSchema":{"type":"object","properties":${nested(20_000, '{"a":', "}")}}}]}}`,
  ),
  results("a result of 200,000 parts", () =>
    content(Array.from({ length: 200_000 }, () => text("x"))),
  ),
  results("a result of 20,000 images", () =>
    content(
      Array.from({ length: 20_000 }, () => ({
        type: "image",
        data: "AAAA",
        mimeType: "image/png",
      })),
    ),
  ),
  results("a resource whose URI has 120,000 slashes", () =>
    content([
      { type: "resource", resource: { uri: `https://x${"/".repeat(120_000)}`, text: "x" } },
    ]),
  ),
  results("a link whose URI has 120,000 slashes", () =>
    content([{ type: "resource_link", uri: `https://x${"/".repeat(120_000)}`, name: "x" }]),
  ),
  results("a result with odd URIs", () =>
    content(
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
  results("a result of 30 MB of text", () => content([text("t".repeat(30_000_000))]), {
    stdio: true,
  }),
  results("a result of 500,000 lines", () => content([text("line\n".repeat(500_000))])),
  results("a result of 240,000 backslashes", () => content([text("\\".repeat(240_000))])),
  results("a result of a million braces", () => content([text("{{".repeat(500_000))])),
  results("a result of 100,000 references to variables", () =>
    content([text("{{var:a}}".repeat(100_000))]),
  ),
  results("an image of 30 MB", () =>
    content([{ type: "image", data: "A".repeat(30_000_000), mimeType: "image/png" }]),
  ),
  results("an image that is no base64", () =>
    content([{ type: "image", data: "####", mimeType: "\u0000" }]),
  ),
  results("odd parts of a result", () =>
    content([
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
  results("a result without content", () => ({})),
  results("a result whose content is a text", () => ({ content: "x" })),
  results("an error of 10 MB", () => ({ isError: true, content: [text("e".repeat(10_000_000))] })),
  results("structured content of 300,000 fields", () => ({
    content: [],
    structuredContent: Object.fromEntries(
      Array.from({ length: 300_000 }, (_, at) => [`f${at}`, at]),
    ),
  })),
  on(
    "tools/call",
    "structured content nested 20,000 deep",
    (request) =>
      `{"jsonrpc":"2.0","id":${request.id},"result":{"content":[],"structuredContent":{"a":${nested(20_000, "[", "]")}}}}`,
  ),
  on("tools/call", "a call that is never answered", () => silence, { stdio: true }),
  on("tools/call", "a call that ends the server", () => crash, { stdio: true }),
  on(
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
  on(
    "tools/call",
    "a call that is answered a thousand times",
    (request) => Array<string>(1000).fill(resultText(request, content([text("x")]))),
    { stdio: true },
  ),
  on(
    "tools/call",
    "20,000 notifications before the answer",
    (request) => [
      ...Array<string>(20_000).fill(
        '{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"x"}}',
      ),
      resultText(request, content([text("x")])),
    ],
    { stdio: true },
  ),
  on(
    "tools/call",
    "20,000 changes of the list of tools before the answer",
    (request) => [
      ...Array<string>(20_000).fill(
        '{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}',
      ),
      resultText(request, content([text("x")])),
    ],
    { stdio: true },
  ),
  on(
    "tools/call",
    "a thousand requests from the server",
    (request) => [
      ...Array.from(
        { length: 1000 },
        (_, at) => `{"jsonrpc":"2.0","id":"s${at}","method":"sampling/createMessage","params":{}}`,
      ),
      resultText(request, content([text("x")])),
    ],
    { stdio: true },
  ),
  on(
    "tools/call",
    "messages that are no JSON-RPC before the answer",
    (request) => [
      "[]",
      "{}",
      "1",
      "null",
      '{"jsonrpc":"1.0"}',
      '{"id":{}}',
      '{"jsonrpc":"2.0","result":1}',
      "\u0000",
      resultText(request, content([text("x")])),
    ],
    { stdio: true },
  ),
  on("tools/call", "an error of JSON-RPC with odd fields", (request) =>
    JSON.stringify({
      jsonrpc: "2.0",
      id: request.id,
      error: { code: "x", message: null, data: { a: "d".repeat(1_000_000) } },
    }),
  ),
  on(
    "tools/call",
    "a message nested 100,000 deep",
    () => `{"jsonrpc":"2.0","id":1,"result":${nested(100_000, "[", "]")}}`,
    { stdio: true },
  ),
  on("tools/call", "a line of 50 MB that is no JSON", () => "x".repeat(50_000_000), {
    stdio: true,
  }),
];
