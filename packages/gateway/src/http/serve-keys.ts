import type { Log } from "../log.ts";
import type { AccessKeys } from "../security/access-keys.ts";
import {
  createAccessKey,
  newAccessKeyBody,
  removeAccessKey,
  revokeAccessKey,
  toAccessKeyReply,
  type OwnerStore,
} from "../security/manage-access-keys.ts";
import { invalidRequest } from "../parse-body.ts";
import { sendJson, type RequestContext } from "./request-context.ts";
import { readValidatedBody } from "./request-body.ts";
import type { RouteHandler } from "./server.ts";
import { withTaskErrors } from "./task-request-params.ts";

export interface KeyRouteServices {
  accessKeys: Pick<AccessKeys, "refresh" | "getTime">;
  /** Throws a GatewayError while the store cannot be opened. */
  getStore: () => OwnerStore;
  log: Log;
}

/** Returns the handlers with which administrators manage access keys. */
export function createKeyHandlers(
  services: KeyRouteServices,
): Record<"keys" | "create key" | "revoke key", RouteHandler> {
  return {
    keys: withTaskErrors(listKeys, services),
    "create key": withTaskErrors(createKey, services),
    "revoke key": withTaskErrors(revokeKey, services),
  };
}

const noStore = { "cache-control": "no-store" };

async function listKeys(
  { response }: RequestContext,
  { accessKeys, getStore }: KeyRouteServices,
): Promise<void> {
  const now = accessKeys.getTime();
  const keys = await getStore().listAccessKeys();
  sendJson(response, 200, { data: keys.map((key) => toAccessKeyReply(key, now)) }, noStore);
}

async function createKey(
  context: RequestContext,
  { accessKeys, getStore, log }: KeyRouteServices,
): Promise<void> {
  const body = await readValidatedBody(context, newAccessKeyBody);
  const newKey = await createAccessKey(body, getStore(), accessKeys.getTime());
  await accessKeys.refresh();
  const { id, name, owner, scopes } = newKey;
  log.info({ id: context.id, key: id, name, owner, scopes }, "access key created");
  sendJson(context.response, 201, newKey, noStore);
}

async function revokeKey(
  { id, response, pathParam, url }: RequestContext,
  { accessKeys, getStore, log }: KeyRouteServices,
): Promise<void> {
  const forever = url.searchParams.get("forever") ?? "false";
  if (forever !== "true" && forever !== "false")
    throw invalidRequest("forever", "expected true or false");
  if (forever === "true") {
    await removeAccessKey(pathParam, getStore());
    await accessKeys.refresh();
    log.info({ id, name: pathParam }, "access key removed");
    return void response.writeHead(204).end();
  }
  const revokedKey = await revokeAccessKey(pathParam, getStore(), accessKeys.getTime());
  await accessKeys.refresh();
  log.info({ id, key: revokedKey.id, name: revokedKey.name }, "access key revoked");
  sendJson(response, 200, revokedKey, noStore);
}
