/*
 * A chat on a running gateway (npm start), with the typed client: a question, another answer to it, a branch, and what has
 * become of all that.
 */
import {
  chosenVersion,
  createChatClient,
  currentPath,
  isRunning,
  nodeOf,
  wordsOf,
} from "@deltawire/tasks/chats";

const base = new URL(process.env["DELTAWIRE_URL"] ?? "http://127.0.0.1:4141/v1").origin;
const chats = createChatClient({ fetch, base });
const { chat } = await chats.create({ settings: { model: "demo/clean" }, tags: ["example"] });
const id = chat.chat_id;

const { node_id } = await chats.send(id, { text: "Hello" });
await answered();
await chats.rerun(id, { node_id }); // another version of the same answer
await answered();

const first = (await chats.open(id)).chat.roots[0] ?? "";
await chats.edit(id, { node_id: first, text: "Show me a list", as: "branch" });
await answered();

const now = (await chats.open(id)).chat;
for (const node of currentPath(now))
  if (node.kind !== "separator") console.log(`${node.kind}: ${wordsOf(chosenVersion(node))}`);
const answer = nodeOf(now, node_id);
console.log(`${now.roots.length} branches`);
if (answer?.kind === "answer") console.log(`${answer.versions.length} versions in the first`);

const { data } = await chats.importFrom(JSON.parse((await chats.exportAs(id, "json")).text));
console.log(`${data[0]?.messages} messages in the copy`);
await chats.remove(id);

/** A page would follow the task of the answer, word by word: follow-task.ts. */
async function answered(): Promise<void> {
  while (Object.values((await chats.open(id)).chat.nodes).some(isRunning))
    await new Promise((resolve) => setTimeout(resolve, 50));
}
