import type { BusConfig, StoreConfig } from "./config.ts";
import { decodeSection } from "./decode-section.ts";
import type { DecodeContext } from "./decode-value.ts";
import { hasValidEscapes, resolveSecretUrl } from "./secret-url.ts";

/**
 * Decodes `[bus]`: the Redis server over which processes notify each other. `hasDatabase`: true if the configuration has a
 * `store.url`, even an invalid one.
 */
export function decodeBus(
  table: unknown,
  { store, hasDatabase }: { store: Pick<StoreConfig, "enabled">; hasDatabase: boolean },
  context: DecodeContext,
): BusConfig {
  const { problems } = context;
  const { url: secret, prefix } = decodeSection("bus", table, ["bus"], context);
  const url = resolveSecretUrl(secret, ["bus", "url"], redisUrl, problems);
  if (!/^[\w.:-]{1,100}$/.test(prefix))
    problems.error(["bus", "prefix"], "must consist of letters, digits and the characters _ . : -");
  if (secret !== undefined && !(hasDatabase && store.enabled))
    problems.error(
      ["bus", "url"],
      "needs a PostgreSQL store, which several gateways share; set store.url, or remove it: with SQLite, one gateway has all events",
    );
  return { url, prefix };
}

const redisUrl = {
  isValid: isRedisUrl,
  expected: 'a Redis server, such as "redis://user:password@host:6379", or rediss:// for TLS',
};

/** False if characters of the password would be read as the host or path. */
function isRedisUrl(text: string): boolean {
  if (!URL.canParse(text) || !/^rediss?:\/\/./.test(text)) return false;
  const url = new URL(text);
  return url.hostname !== "" && /^\/?\d*$/.test(url.pathname) && hasValidEscapes(url);
}
