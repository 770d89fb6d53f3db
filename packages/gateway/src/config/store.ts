import type { S3Config, StoreConfig } from "./config.ts";
import { decodeSection } from "./decode-section.ts";
import type { DecodedSection } from "./setting-definitions.ts";
import type { DecodeContext } from "./decode-value.ts";
import { resolveConfigPath, type ConfigFileContext } from "./referenced-files.ts";
import { hasValidEscapes, resolveSecretUrl } from "./secret-url.ts";

/** Decodes `[store]`: where tasks and chats are stored, and for how long. */
export function decodeStore(
  table: unknown,
  fileContext: ConfigFileContext,
  context: DecodeContext,
): StoreConfig {
  const { problems } = context;
  const values = decodeSection("store", table, ["store"], context);
  const url = resolveSecretUrl(values.url, ["store", "url"], postgresUrl, problems);
  if (url !== undefined && values.path !== undefined)
    problems.error(["store", "path"], "is not used with store.url; remove one of them");
  if (!isSchemaName(values.schema))
    problems.error(
      ["store", "schema"],
      "must consist of lower-case letters, digits and _, and not begin with a digit",
    );
  return {
    url,
    schema: values.schema,
    enabled: values.enabled,
    path: values.path === undefined ? undefined : resolveConfigPath(fileContext, values.path),
    retentionDays: values.retention_days === 0 ? undefined : values.retention_days,
    maxMb: values.max_mb,
    responseDays: values.response_days,
    responsesMaxMb: values.responses_max_mb,
    maxConnections: values.max_connections,
    s3: decodeBucket(values, url, context),
  };
}

/** Decodes the `s3_` settings of `[store]`. */
function decodeBucket(
  values: DecodedSection<"store">,
  storeUrl: string | undefined,
  { problems }: DecodeContext,
): S3Config | undefined {
  const { s3_url: url, s3_region: region, s3_min_kb: minKb } = values;
  if (url === undefined) return undefined;
  if (values.url === undefined)
    problems.error(["store", "s3_url"], "needs a PostgreSQL store; set store.url, or remove it");
  if (!isBucketUrl(url))
    problems.error(
      ["store", "s3_url"],
      'must have the form "https://host/bucket" or "https://bucket.host", without a user and password',
    );
  const [accessKeyId, secretAccessKey] = (
    ["s3_access_key_id", "s3_secret_access_key"] as const
  ).map((name) => {
    const secret = values[name];
    if (secret === undefined)
      problems.error(["store", "s3_url"], `needs store.${name}, such as "env:NAME"`);
    else if (secret.value === undefined)
      problems.error(["store", name], `the environment variable ${secret.variable} is not set`);
    return secret?.value;
  });
  if (storeUrl === undefined || accessKeyId === undefined || secretAccessKey === undefined)
    return undefined;
  return { url, region, accessKeyId, secretAccessKey, minBytes: Math.round(minKb * 1024) };
}

function isBucketUrl(text: string): boolean {
  if (!URL.canParse(text) || !/^https?:\/\//.test(text)) return false;
  const { username, password, search, hash } = new URL(text);
  return `${username}${password}${search}${hash}` === "";
}

const postgresUrl = {
  isValid: isPostgresUrl,
  expected:
    'a PostgreSQL database with one host, such as "postgres://user:password@host:5432/database"',
};

/** False if characters of the password would be read as the host or path, and for several hosts, which `pg` does not support. */
function isPostgresUrl(text: string): boolean {
  if (!URL.canParse(text) || !/^postgres(?:ql)?:\/\//.test(text)) return false;
  const url = new URL(text);
  const hosts = [url.hostname, ...url.searchParams.getAll("host")];
  const hasOneHost = !hosts.some((host) => /,|%2c/i.test(host));
  const rest = `${url.pathname === "" ? url.search : url.pathname}${url.hash}`;
  return !rest.includes("@") && hasOneHost && hasValidEscapes(url);
}

const isSchemaName = (name: string): boolean => /^[a-z_][a-z0-9_]{0,62}$/.test(name);
