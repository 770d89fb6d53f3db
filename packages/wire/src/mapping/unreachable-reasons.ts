/** Why a server could not be reached, in words, by the codes of Node and undici. */
export const unreachableReasons: Readonly<Record<string, string>> = {
  ECONNREFUSED: "the connection was refused",
  ECONNRESET: "the connection was reset",
  ENOTFOUND: "its host name is not known",
  EAI_AGAIN: "its host name cannot be looked up at the moment",
  EHOSTUNREACH: "its host cannot be reached",
  ENETUNREACH: "its network cannot be reached",
  UND_ERR_SOCKET: "the connection broke",
  UND_ERR_CONNECT_TIMEOUT: "no connection could be made in time",
  UND_ERR_HEADERS_TIMEOUT: "it did not answer in time",
};
