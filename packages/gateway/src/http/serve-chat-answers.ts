import type { AnswerRequest, ChatChangeResult, Chats, SendResult } from "@deltawire/agent";
import type { Store } from "@deltawire/store";
import { scopeBlobs, type BlobStore } from "@deltawire/tasks";
import {
  editBody,
  nodeBody,
  findNode,
  diffChats,
  sendBody,
  stopBody,
} from "@deltawire/tasks/chats";
import type { ChangeReply, ChatStore, SendReply, StopReply } from "@deltawire/tasks/chats";
import { storeAttachments } from "../chats/store-attachments.ts";
import type { IdempotentRequests } from "../tasks/idempotent-requests.ts";
import { sendJson, type RequestContext } from "./request-context.ts";
import { GatewayError } from "../gateway-error.ts";
import { readValidatedBody } from "./request-body.ts";
import type { RouteHandler, TaskRouteHandlers } from "./server.ts";
import { getScopedIdempotencyKey, withAccessKey, withTaskErrors } from "./task-request-params.ts";

export interface AnswerRouteServices {
  chats: Chats;
  store: ChatStore & BlobStore & Pick<Store, "owns">;
  idempotentRequests: IdempotentRequests;
}

/** Returns the handlers of the routes that start and stop answers. */
export function createAnswerHandlers(services: AnswerRouteServices): TaskRouteHandlers {
  const handler = (
    serve: (context: RequestContext, services: AnswerRouteServices) => Promise<void>,
  ): RouteHandler => withTaskErrors(serve, services);
  return {
    "send message": handler(sendMessage),
    "rerun answer": handler(rerunAnswer),
    "edit message": handler(editMessage),
    "continue answer": handler(continueAnswer),
    "stop answers": handler(stopAnswers),
  };
}

async function sendMessage(context: RequestContext, services: AnswerRouteServices): Promise<void> {
  const body = await readValidatedBody(context, sendBody);
  const message = await storeAttachments(body, scopeBlobs(services.store, context.owner));
  return answerIdempotently(context, services, message, (request) =>
    services.chats.send(context.pathParam, request),
  );
}

async function rerunAnswer(context: RequestContext, services: AnswerRouteServices): Promise<void> {
  const body = await readValidatedBody(context, nodeBody);
  return answerIdempotently(context, services, body, (request) =>
    services.chats.rerun(context.pathParam, request),
  );
}

async function editMessage(context: RequestContext, services: AnswerRouteServices): Promise<void> {
  const { chats, store } = services;
  const body = await readValidatedBody(context, editBody);
  if (getScopedIdempotencyKey(context) !== undefined)
    await assertEditIsSent(context, services, body);
  const message = await storeAttachments(body, scopeBlobs(store, context.owner));
  return answerIdempotently(context, services, message, (request) =>
    chats.editMessage(context.pathParam, request),
  );
}

async function continueAnswer(
  context: RequestContext,
  services: AnswerRouteServices,
): Promise<void> {
  const body = await readValidatedBody(context, nodeBody);
  return answerIdempotently(context, services, body, (request) =>
    services.chats.continueAnswer(context.pathParam, request),
  );
}

async function stopAnswers(context: RequestContext, { chats }: AnswerRouteServices): Promise<void> {
  const body = await readValidatedBody(context, stopBody, { whenEmpty: {} });
  const { answers: data, update } = await chats.stop(context.pathParam, body);
  sendJson(context.response, 200, { data, ...update } satisfies StopReply);
}

/** Throws for an edit with an Idempotency-Key that starts no task: repeated edits are recognized only by their task. */
async function assertEditIsSent(
  { pathParam }: RequestContext,
  { chats }: AnswerRouteServices,
  { node_id, send }: { node_id: string; send: boolean },
): Promise<void> {
  const storedChat = await chats.open(pathParam);
  if (send && (storedChat === undefined || findNode(storedChat.chat, node_id)?.kind !== "answer"))
    return;
  throw new GatewayError(
    "invalid_header",
    "Idempotency-Key: not supported for an edit that is not sent to a model; send revision instead, so that it is applied only once",
    { param: "Idempotency-Key" },
  );
}

/** Starts an answer. If the request has an Idempotency-Key, the task id stored with the key shows whether it was already started. */
async function answerIdempotently<Request extends AnswerRequest>(
  context: RequestContext,
  { idempotentRequests }: AnswerRouteServices,
  request: Request,
  requestAnswer: (request: Request) => Promise<SendResult | ChatChangeResult>,
): Promise<void> {
  context.model = request.model ?? request.agent;
  const key = getScopedIdempotencyKey(context);
  const result =
    key === undefined
      ? await requestAnswer(withAccessKey(request, context))
      : await idempotentRequests.run(key, [context.url.pathname, request], (task_id) =>
          requestAnswer({ ...withAccessKey(request, context), task_id }),
        );
  if (!isSendResult(result)) return sendJson(context.response, 200, toChangeReply(result));
  const { task_id, node_id, version_id } = result;
  const reply: SendReply = { ...toChangeReply(result), node_id, version_id, task_id };
  sendJson(context.response, 201, reply, {
    location: `/api/tasks/${encodeURIComponent(task_id)}`,
    ...(isReplay(result) ? { "idempotent-replayed": "true" } : {}),
  });
}

export function toChangeReply(change: ChatChangeResult): ChangeReply {
  const { before, after, node_id, version_id, removal_ids = [] } = change;
  // A client that repeats a request has not seen its result, so all nodes are sent.
  const knownChat = isReplay(change) ? { ...before.chat, nodes: {} } : before.chat;
  return {
    from: before.stamp,
    ...diffChats(knownChat, after.chat, after.stamp),
    ...(node_id === undefined ? {} : { node_id }),
    ...(version_id === undefined ? {} : { version_id }),
    ...(removal_ids.length === 0 ? {} : { removal_ids }),
  };
}

function isSendResult(result: SendResult | ChatChangeResult): result is SendResult {
  return "task_id" in result;
}

/** True if an earlier request with the same key made the change. */
function isReplay({ before, after }: ChatChangeResult): boolean {
  return before === after;
}
