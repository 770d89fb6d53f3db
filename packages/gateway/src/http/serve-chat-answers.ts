import type { Asking, Changed, Chats, Sent } from "@deltawire/agent";
import type { BlobStore } from "@deltawire/tasks";
import {
  editBody,
  nodeBody,
  nodeOf,
  patchBetween,
  sendBody,
  stopBody,
} from "@deltawire/tasks/chats";
import type { ChangedReply, ChatStore, SentReply, StoppedReply } from "@deltawire/tasks/chats";
import { withKeptAttachments } from "../chats/kept-attachments.ts";
import type { KeyedRequests } from "../tasks/keyed-requests.ts";
import { sendJson, type Call } from "./call.ts";
import { Problem } from "../problem.ts";
import { readBody } from "./request-body.ts";
import type { Handler, TaskHandlers } from "./server.ts";
import { idempotencyKey, served } from "./task-calls.ts";

export interface AnswerServer {
  chats: Chats;
  store: ChatStore & BlobStore;
  keyed: KeyedRequests;
}

/** The handlers of the routes by which answers are asked for and stopped. */
export function answerHandlers(server: AnswerServer): TaskHandlers {
  const handler = (serve: (call: Call, server: AnswerServer) => Promise<void>): Handler =>
    served(serve, server);
  return {
    "send message": handler(send),
    "rerun answer": handler(rerun),
    "edit message": handler(edit),
    "continue answer": handler(continueAnswer),
    "stop answers": handler(stop),
  };
}

async function send(call: Call, server: AnswerServer): Promise<void> {
  const asked = await readBody(call, sendBody);
  const message = await withKeptAttachments(asked, server.store);
  return answerOnce(call, server, message, (request) => server.chats.send(call.rest, request));
}

async function rerun(call: Call, server: AnswerServer): Promise<void> {
  const asked = await readBody(call, nodeBody);
  return answerOnce(call, server, asked, (request) => server.chats.rerun(call.rest, request));
}

async function edit(call: Call, server: AnswerServer): Promise<void> {
  const { chats, store } = server;
  const asked = await readBody(call, editBody);
  if (idempotencyKey(call) !== undefined) await checkThatItIsSent(call, server, asked);
  const message = await withKeptAttachments(asked, store);
  return answerOnce(call, server, message, (request) => chats.editMessage(call.rest, request));
}

async function continueAnswer(call: Call, server: AnswerServer): Promise<void> {
  const asked = await readBody(call, nodeBody);
  return answerOnce(call, server, asked, (request) =>
    server.chats.continueAnswer(call.rest, request),
  );
}

async function stop(call: Call, { chats }: AnswerServer): Promise<void> {
  const asked = await readBody(call, stopBody, { whenEmpty: {} });
  const { answers: data, since } = await chats.stop(call.rest, asked);
  sendJson(call.response, 200, { data, ...since } satisfies StoppedReply);
}

/** An edit is known again by the task that it starts; one that starts none would be made twice. */
async function checkThatItIsSent(
  { rest }: Call,
  { chats }: AnswerServer,
  { node_id, send }: { node_id: string; send: boolean },
): Promise<void> {
  const kept = await chats.open(rest);
  if (send && (kept === undefined || nodeOf(kept.chat, node_id)?.kind !== "answer")) return;
  throw new Problem(
    "invalid_header",
    "Idempotency-Key: an edit that is not sent to a model has none; send the revision instead, so that it is made once",
    { param: "Idempotency-Key" },
  );
}

/** Asks, and with a key once: the promised task says whether it was asked before. */
async function answerOnce<Request extends Asking>(
  call: Call,
  { keyed }: AnswerServer,
  request: Request,
  ask: (request: Request) => Promise<Sent | Changed>,
): Promise<void> {
  call.model = request.model ?? request.agent;
  const key = idempotencyKey(call);
  const came =
    key === undefined
      ? await ask(request)
      : await keyed.run(key, [call.url.pathname, request], (task_id) =>
          ask({ ...request, task_id }),
        );
  if (!isSent(came)) return sendJson(call.response, 200, changedReply(came));
  const { task_id, node_id, version_id } = came;
  const reply: SentReply = { ...changedReply(came), node_id, version_id, task_id };
  sendJson(call.response, 201, reply, {
    location: `/api/tasks/${encodeURIComponent(task_id)}`,
    ...(isReplay(came) ? { "idempotent-replayed": "true" } : {}),
  });
}

export function changedReply(changed: Changed): ChangedReply {
  const { before, after, node_id, version_id, removal_ids = [] } = changed;
  // Who asks again has not seen what came of it: then all nodes are told.
  const known = isReplay(changed) ? { ...before.chat, nodes: {} } : before.chat;
  return {
    from: before.stamp,
    ...patchBetween(known, after.chat, after.stamp),
    ...(node_id === undefined ? {} : { node_id }),
    ...(version_id === undefined ? {} : { version_id }),
    ...(removal_ids.length === 0 ? {} : { removal_ids }),
  };
}

function isSent(came: Sent | Changed): came is Sent {
  return "task_id" in came;
}

/** Nothing was changed now. */
function isReplay({ before, after }: Changed): boolean {
  return before === after;
}
