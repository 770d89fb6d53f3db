// An agent built with LangChain: runs one prompt, and prints the answer.
import { createRequire } from "node:module";
import { bashTool, conversationFile, runBash, type LibraryAgentInput } from "./library-agent.ts";

/** What is used of `@langchain/openai` and `@langchain/core`. */
interface LangChain {
  ChatOpenAI: new (options: object) => { bindTools(tools: object[]): Model };
  HumanMessage: new (text: string) => object;
  ToolMessage: new (message: { content: string; tool_call_id: string }) => object;
  mapChatMessagesToStoredMessages(messages: object[]): unknown;
  mapStoredMessagesToChatMessages(stored: unknown): object[];
}

interface Model {
  stream(messages: object[], options: { signal: AbortSignal }): Promise<AsyncIterable<Chunk>>;
}

interface Chunk {
  concat(chunk: Chunk): Chunk;
  text: string;
  tool_calls?: { id: string; args: { command: string } }[];
}

const input = JSON.parse(process.argv[2] ?? "") as LibraryAgentInput;
const load = createRequire(input.requireFrom);
const langchain = {
  ...(load("@langchain/core/messages") as LangChain),
  ...(load(input.library) as LangChain),
};
const abort = new AbortController();
process.once("SIGINT", () => abort.abort());

const isResponses = input.wire === "responses";
const model = new langchain.ChatOpenAI({
  model: input.model,
  apiKey: "local",
  configuration: { baseURL: `${input.url}/v1` },
  useResponsesApi: isResponses,
  streaming: true,
  zdrEnabled: isResponses,
}).bindTools([{ type: "function", function: bashTool }]);

const file = conversationFile(input);
const messages = input.isResumed
  ? langchain.mapStoredMessagesToChatMessages(await file.read())
  : [];
messages.push(new langchain.HumanMessage(input.prompt));
for (;;) {
  let reply: Chunk | undefined;
  for await (const chunk of await model.stream(messages, { signal: abort.signal }))
    reply = reply === undefined ? chunk : reply.concat(chunk);
  if (reply === undefined) throw new Error("an empty stream");
  messages.push(reply);
  const calls = reply.tool_calls ?? [];
  if (calls.length === 0) {
    process.stdout.write(`${reply.text}\n`);
    break;
  }
  for (const { id, args } of calls) {
    const content = await runBash(args.command, input.cwd);
    messages.push(new langchain.ToolMessage({ content, tool_call_id: id }));
  }
}
await file.write(langchain.mapChatMessagesToStoredMessages(messages));
