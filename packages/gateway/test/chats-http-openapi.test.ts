import { createChatClient } from "@deltawire/tasks/chats";
import { expect, test } from "vitest";
import { matchRoute } from "../src/http/routes.ts";
import { chatGatewayFixture, waitUntilSettled } from "./chat-fixture.ts";
import { findSchemaErrors } from "./validate-schema.ts";

type Json = Readonly<Record<string, unknown>>;
interface Body {
  content?: { "application/json"?: { schema: Json } };
}
interface Operation {
  operationId: string;
  requestBody?: Body;
  responses: Record<string, Body>;
}

test("requests and replies match the OpenAPI document", async () => {
  const { gateway, url } = await chatGatewayFixture();
  const document = (await (await fetch(`${url}/openapi.json`)).json()) as {
    paths: Record<string, Record<string, Operation>>;
    components: { schemas: Record<string, Json> };
  };
  const { schemas } = document.components;
  const operations = Object.values(document.paths).flatMap((methods) => Object.values(methods));
  const errors: string[] = [];
  const seen = new Set<string>();
  const check = (what: string, body: Body | undefined, text: string): void => {
    const schema = body?.content?.["application/json"]?.schema;
    if (schema === undefined || text === "") return;
    seen.add(what);
    for (const error of findSchemaErrors(schemas, schema, JSON.parse(text)))
      errors.push(what + error);
  };
  const client = createChatClient({
    baseUrl: gateway.url,
    async fetch(address, request) {
      const reply = await fetch(address, request);
      const text = await reply.text();
      const routed = matchRoute(request.method, new URL(address).pathname);
      const name = routed.type === "route" ? routed.name.replaceAll(" ", "_") : "";
      const operation = operations.find(({ operationId }) => operationId === name);
      const answer = operation?.responses[reply.status] ?? operation?.responses["default"];
      check(`${name} ${reply.status} `, answer, text);
      if (reply.status < 400 && typeof request.body === "string")
        check(`${name} request `, operation?.requestBody, request.body);
      return { status: reply.status, headers: reply.headers, text: () => Promise.resolve(text) };
    },
  });

  const { chat, stamp } = await client.create({
    title: "All of it",
    settings: {
      options: { temperature: 0 },
      privacy: { enabled: true, fields: [{ kind: "email" }] },
    },
  });
  const id = chat.chat_id;
  const sent = await client.send(id, {
    text: "What is this?",
    parent: null,
    model: "demo/clean",
    attachments: [{ kind: "file", url: "data:text/plain,hello", filename: "a.txt" }],
    contexts: [{ kind: "page", title: "A page", text: "words", url: "https://example.org" }],
  });
  await client.get(id);
  await client.getSince(id, stamp);
  await client.getSince(id, 0);
  await client.task(sent.task_id);
  await waitUntilSettled(client, id);
  await client.continueAnswer(id, { node_id: sent.node_id });
  await client.stop(id, { node_id: sent.node_id });
  await waitUntilSettled(client, id);
  await client.rerun(id, { node_id: sent.node_id, options: { temperature: 1 } });
  await client.stop(id);
  const { chat: before } = await waitUntilSettled(client, id);
  const [question = ""] = before.roots;
  await client.editMessage(id, { node_id: question, text: "Hello", send: false });
  await client.editMessage(id, { node_id: question, text: "Bye", as: "branch" });
  await client.stop(id);
  const { chat: now } = await waitUntilSettled(client, id);
  const ofNode = { node_id: question, value: true };
  const { removal_ids: [removal_id = ""] = [] } = await client.applyEdits(id, {
    revision: now.revision,
    edits: [
      { type: "rename", title: "New" },
      { type: "tag", tags: ["a"] },
      { type: "pin_chat", value: true },
      { type: "settings", patch: { turns: 3, options: null } },
      { type: "choose_branch", node_id: question },
      { type: "pin", ...ofNode },
      { type: "hide", ...ofNode },
      { type: "bookmark", ...ofNode },
      { type: "add_separator", after: sent.node_id },
      { type: "delete_node", node_id: sent.node_id, children: "delete" },
    ],
  });
  await client.removals(id);
  await client.undo(id, { removal_id });
  const late = client.applyEdits(id, { revision: 0, edits: [{ type: "pin_chat", value: false }] });
  await expect(late).rejects.toThrow("in the meantime");
  await expect(client.get("nobody")).rejects.toThrow('chat "nobody" not found');
  await client.extract(id, { node_id: question });
  await client.importFile([{ role: "user", content: "Hello" }]);
  await client.list({ limit: 1 });
  await client.list({ tag: "of nobody" });
  await client.search("hello");
  await client.choices();
  await client.tags();
  await client.variables(id);
  await client.putBlob(new Uint8Array([1]), { mediaType: "image/png", filename: "a.png" });
  await client.remove(id);
  await client.restore(id);

  expect(errors).toEqual([]);
  expect(seen.size).toBeGreaterThan(28);
});
