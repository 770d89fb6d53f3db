/** The address of a Redis server. */
export interface RedisAddress {
  readonly host: string;
  readonly port: number;
  readonly tls: boolean;
  readonly username: string | undefined;
  readonly password: string | undefined;
  /** The URL without user and password, for messages. */
  readonly displayUrl: string;
}

const defaultPort = 6379;

/**
 * Parses `redis://user:password@host:port`, or `rediss://` for TLS. A database number as the path is ignored: all databases of a
 * server share their channels. Throws a TypeError without the URL, which contains a password.
 */
export function parseBusUrl(url: string): RedisAddress {
  const parsed = URL.canParse(url) ? new URL(url) : undefined;
  // An unescaped / in a password ends the host, and the rest is read as the path.
  if (
    parsed === undefined ||
    !/^rediss?:$/.test(parsed.protocol) ||
    parsed.hostname === "" ||
    !/^\/?\d*$/.test(parsed.pathname)
  )
    throw createInvalidUrlError();
  const port = parsed.port === "" ? defaultPort : Number(parsed.port);
  return {
    host: parsed.hostname.replace(/^\[(.*)\]$/, "$1"),
    port,
    tls: parsed.protocol === "rediss:",
    username: decode(parsed.username),
    password: decode(parsed.password),
    displayUrl: `${parsed.protocol}//${parsed.hostname}:${port}`,
  };
}

function decode(text: string): string | undefined {
  try {
    return text === "" ? undefined : decodeURIComponent(text);
  } catch {
    throw createInvalidUrlError();
  }
}

function createInvalidUrlError(): TypeError {
  return new TypeError(
    "the URL of the message bus is invalid; it must have the form redis://user:password@host:6379, or rediss:// for TLS, with %2F for /, %40 for @ and %23 for # in the password",
  );
}
