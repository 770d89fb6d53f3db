/*
 * Uses the typed client with a running gateway (npm start): sends a message, generates a second version of the answer,
 * edits the message on a new branch, and exports and imports the chat.
 */
import {
  getChosenVersion,
  createChatClient,
  currentPath,
  isRunning,
  findNode,
  getVersionText,
} from "@deltawire/tasks/chats";

const baseUrl = new URL(process.env["DELTAWIRE_URL"] ?? "http://127.0.0.1:4141/v1").origin;
const chats = createChatClient({ fetch, baseUrl });
const { chat } = await chats.create({ settings: { model: "demo/clean" }, tags: ["example"] });
const id = chat.chat_id;

const { node_id } = await chats.send(id, { text: "Hello" });
await waitForAnswer();
await chats.rerun(id, { node_id }); // another version of the same answer
await waitForAnswer();

const firstMessageId = (await chats.get(id)).chat.roots[0] ?? "";
await chats.editMessage(id, { node_id: firstMessageId, text: "Show me a list", as: "branch" });
await waitForAnswer();

const currentChat = (await chats.get(id)).chat;
for (const node of currentPath(currentChat))
  if (node.kind !== "separator")
    console.log(`${node.kind}: ${getVersionText(getChosenVersion(node))}`);
const answer = findNode(currentChat, node_id);
console.log(`${currentChat.roots.length} branches`);
if (answer?.kind === "answer")
  console.log(`${answer.versions.length} versions of the first answer`);

const { data } = await chats.importFile(JSON.parse((await chats.exportAs(id, "json")).text));
console.log(`${data[0]?.messages} messages in the copy`);
await chats.remove(id);

/** Polls until no answer is running. To stream the answer instead, see follow-task.ts. */
async function waitForAnswer(): Promise<void> {
  while (Object.values((await chats.get(id)).chat.nodes).some(isRunning))
    await new Promise((resolve) => setTimeout(resolve, 50));
}
