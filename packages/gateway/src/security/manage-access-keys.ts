import type { AccessKey, AccessKeyLimits, AccessKeyStore, Store } from "@deltawire/store";
import { integer, optionalFields, readonlyArray, strictObject } from "@deltawire/tasks/chats";
import { quoteExcerpt } from "@deltawire/tasks";
import * as v from "valibot";
import { GatewayError } from "../gateway-error.ts";
import { newId } from "../new-id.ts";
import { invalidRequest } from "../parse-body.ts";
import { createAccessKeyToken, hashAccessKey } from "./access-key-format.ts";
import { getAccessKeyState, type AccessKeyState } from "./access-keys.ts";
import { accessScopes, defaultAccessScopes } from "./access-scopes.ts";
import { deriveSessionValue } from "./session.ts";

const maxNameLength = 100;
const nameSchema = v.pipe(
  v.string(),
  v.check((name) => name.trim() !== "", "must not be empty"),
  v.maxLength(maxNameLength),
  v.check((name) => !/\p{Cc}/u.test(name), "must not contain control characters"),
);
const positiveIntegerSchema = integer(1);
const positiveNumberSchema = v.pipe(
  v.number(),
  v.finite(),
  v.gtValue(0, "expected a number above 0"),
);

/** The limits of a key in requests and replies. */
export const accessKeyLimitsSchema = strictObject(
  optionalFields({
    requests_per_minute: positiveIntegerSchema,
    tokens_per_day: positiveIntegerSchema,
    cost_per_day: positiveNumberSchema,
    cost_per_month: positiveNumberSchema,
  }),
);

/** The body of `POST /deltawire/keys`. */
export const newAccessKeyBody = strictObject({
  name: v.pipe(nameSchema, v.description("Unique among the keys that have not been revoked.")),
  ...optionalFields({
    owner: v.pipe(
      nameSchema,
      v.description("Whose chats, tasks and files the key can access. Default: the name."),
    ),
    scopes: v.pipe(
      readonlyArray(v.picklist(accessScopes)),
      v.minLength(1, "expected at least one scope"),
      v.description(`Default: ${defaultAccessScopes.join(", ")}.`),
    ),
    expires_at: v.pipe(
      v.string(),
      v.isoTimestamp("expected a time such as 2030-01-31T00:00:00Z"),
      v.description("Default: the key does not expire."),
    ),
    limits: accessKeyLimitsSchema,
  }),
});

export type NewAccessKeyBody = v.InferOutput<typeof newAccessKeyBody>;

/** An access key in replies. */
export interface AccessKeyReply {
  readonly id: string;
  readonly name: string;
  readonly owner: string;
  readonly scopes: readonly string[];
  readonly state: AccessKeyState;
  readonly last_characters: string;
  readonly limits: v.InferOutput<typeof accessKeyLimitsSchema>;
  readonly created_at: string;
  readonly expires_at?: string;
  readonly revoked_at?: string;
  readonly last_used_at?: string;
}

/** The reply that creates a key is the only one that contains it. */
export interface NewAccessKeyReply extends AccessKeyReply {
  readonly key: string;
  /** True if the owner already has chats, tasks or files, or had another key: the new key can access this data. */
  readonly owner_existed?: true;
}

/** A store of access keys and of the data of their owners. */
export type OwnerStore = AccessKeyStore & Pick<Store, "listTasks" | "listChats" | "listFiles">;

/** Creates a key. Throws a GatewayError if the name is taken or the expiry is in the past. */
export async function createAccessKey(
  body: NewAccessKeyBody,
  store: OwnerStore,
  now = Date.now(),
): Promise<NewAccessKeyReply> {
  const { name, owner = name, scopes = defaultAccessScopes, expires_at, limits = {} } = body;
  const expiresAt = expires_at === undefined ? undefined : Date.parse(expires_at);
  if (expiresAt !== undefined && expiresAt <= now)
    throw invalidRequest("expires_at", `expected a time in the future, got ${expires_at}`);
  const token = createAccessKeyToken();
  const key: AccessKey = {
    id: newId("key"),
    name,
    owner,
    scopes: accessScopes.filter((scope) => scopes.includes(scope)),
    lastCharacters: token.slice(-4),
    limits: toAccessKeyLimits(limits),
    createdAt: now,
    ...(expiresAt === undefined ? {} : { expiresAt }),
  };
  const ownerExisted = await isKnownOwner(owner, store);
  const isCreated = await store.createAccessKey({
    ...key,
    keyHash: hashAccessKey(token),
    sessionHash: hashAccessKey(deriveSessionValue(token)),
  });
  if (!isCreated)
    throw new GatewayError(
      "key_name_taken",
      `an access key "${name}" already exists; revoke it first, or choose another name`,
      { param: "name" },
    );
  return {
    ...toAccessKeyReply(key, now),
    key: token,
    ...(ownerExisted && { owner_existed: true }),
  };
}

async function isKnownOwner(owner: string, store: OwnerStore): Promise<boolean> {
  if ((await store.listAccessKeys()).some((key) => key.owner === owner)) return true;
  const data = await Promise.all([
    store.listTasks({ owner, limit: 1 }),
    store.listChats({ owner, limit: 1 }),
    store.listFiles(owner, { limit: 1, order: "asc" }),
  ]);
  return data.some((list) => list !== undefined && list.length > 0);
}

/** Revokes a key, given by name or id. Throws a GatewayError if it does not exist. */
export async function revokeAccessKey(
  nameOrId: string,
  store: AccessKeyStore,
  now = Date.now(),
): Promise<AccessKeyReply> {
  const { id } = await findAccessKey(nameOrId, store);
  await store.revokeAccessKey(id, now);
  return toAccessKeyReply(await findAccessKey(id, store), now);
}

/** Removes a revoked key, given by name or id. Throws a GatewayError if it does not exist or has not been revoked. */
export async function removeAccessKey(nameOrId: string, store: AccessKeyStore): Promise<void> {
  const { id, name } = await findAccessKey(nameOrId, store);
  if (await store.removeAccessKey(id)) return;
  const revokedKeys = (await store.listAccessKeys()).filter(
    (key) => key.name === nameOrId && key.revokedAt !== undefined,
  );
  const advice =
    revokedKeys.length === 0
      ? "revoke it before you remove it"
      : `to remove the revoked key of this name, use the id: ${revokedKeys.map((key) => key.id).join(" or ")}`;
  throw new GatewayError("conflict", `the access key "${name}" has not been revoked; ${advice}`);
}

export function toAccessKeyReply(key: AccessKey, now: number): AccessKeyReply {
  const { requestsPerMinute, tokensPerDay, costPerDay, costPerMonth } = key.limits;
  const { expiresAt, revokedAt, lastUsedAt } = key;
  return {
    id: key.id,
    name: key.name,
    owner: key.owner,
    scopes: key.scopes,
    state: getAccessKeyState(key, now),
    last_characters: key.lastCharacters,
    limits: {
      ...(requestsPerMinute === undefined ? {} : { requests_per_minute: requestsPerMinute }),
      ...(tokensPerDay === undefined ? {} : { tokens_per_day: tokensPerDay }),
      ...(costPerDay === undefined ? {} : { cost_per_day: costPerDay }),
      ...(costPerMonth === undefined ? {} : { cost_per_month: costPerMonth }),
    },
    created_at: toIsoTime(key.createdAt),
    ...(expiresAt === undefined ? {} : { expires_at: toIsoTime(expiresAt) }),
    ...(revokedAt === undefined ? {} : { revoked_at: toIsoTime(revokedAt) }),
    ...(lastUsedAt === undefined ? {} : { last_used_at: toIsoTime(lastUsedAt) }),
  };
}

/** Of several keys with this name, returns the one that has not been revoked, or else the newest. */
async function findAccessKey(nameOrId: string, store: AccessKeyStore): Promise<AccessKey> {
  const keys = await store.listAccessKeys();
  const keysWithName = keys.filter(({ name }) => name === nameOrId);
  const match =
    keys.find(({ id }) => id === nameOrId) ??
    keysWithName.find(({ revokedAt }) => revokedAt === undefined) ??
    keysWithName.at(-1);
  if (match !== undefined) return match;
  throw new GatewayError(
    "key_not_found",
    `access key ${quoteExcerpt(nameOrId)} not found; the command "keys list" shows all keys`,
  );
}

function toAccessKeyLimits(limits: NonNullable<NewAccessKeyBody["limits"]>): AccessKeyLimits {
  const { requests_per_minute, tokens_per_day, cost_per_day, cost_per_month } = limits;
  return {
    ...(requests_per_minute === undefined ? {} : { requestsPerMinute: requests_per_minute }),
    ...(tokens_per_day === undefined ? {} : { tokensPerDay: tokens_per_day }),
    ...(cost_per_day === undefined ? {} : { costPerDay: cost_per_day }),
    ...(cost_per_month === undefined ? {} : { costPerMonth: cost_per_month }),
  };
}

function toIsoTime(time: number): string {
  return new Date(time).toISOString();
}
