// An agent built with Anthropic's SDK: runs one prompt, and prints the answer.
import { createRequire } from "node:module";
import { bashTool, conversationFile, runBash, type LibraryAgentInput } from "./library-agent.ts";

/** What is used of the SDK. */
interface Sdk {
  Anthropic: new (options: object) => {
    messages: { stream(body: object, options: object): Stream };
  };
}

interface Stream {
  finalMessage(): Promise<{ content: Block[] }>;
}

type Block =
  | { type: "text"; text: string }
  | { type: "tool_use"; id: string; input: { command: string } }
  | { type: "thinking" };

const input = JSON.parse(process.argv[2] ?? "") as LibraryAgentInput;
const { Anthropic } = createRequire(input.requireFrom)(input.library) as Sdk;
const client = new Anthropic({ baseURL: input.url, apiKey: "local" });
const abort = new AbortController();
process.once("SIGINT", () => abort.abort());

const { name, description, parameters } = bashTool;
const file = conversationFile(input);
const messages = input.isResumed ? ((await file.read()) as object[]) : [];
messages.push({ role: "user", content: input.prompt });
for (;;) {
  const body = {
    model: input.model,
    max_tokens: 8192,
    thinking: { type: "enabled", budget_tokens: 2048 },
    tools: [{ name, description, input_schema: parameters }],
    messages,
  };
  const { content } = await client.messages.stream(body, { signal: abort.signal }).finalMessage();
  messages.push({ role: "assistant", content });
  const calls = content.filter((block) => block.type === "tool_use");
  if (calls.length === 0) {
    for (const block of content) if (block.type === "text") process.stdout.write(`${block.text}\n`);
    break;
  }
  const results: object[] = [];
  for (const { id, input: args } of calls) {
    const result = await runBash(args.command, input.cwd);
    results.push({ type: "tool_result", tool_use_id: id, content: result });
  }
  messages.push({ role: "user", content: results });
}
await file.write(messages);
