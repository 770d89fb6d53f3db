import { isObject, type JsonObject, type JsonValue } from "@deltawire/wire";

/** A schema with an address of its own: the document, or a part of it with `$id`. */
export interface SchemaResource {
  readonly uri: string;
  readonly root: JsonObject;
  /** By name: parts with `$anchor` or `$dynamicAnchor`. */
  readonly anchors: Map<string, JsonObject>;
  /** By name; `$recursiveAnchor` of draft 2019-09 has the name "". */
  readonly dynamicAnchors: Map<string, JsonObject>;
}

export interface SchemaTarget {
  readonly schema: JsonValue;
  readonly resource: SchemaResource;
}

/** Finds what references within a schema document refer to. Nothing is fetched from elsewhere. */
export class SchemaIndex {
  readonly document: SchemaResource;
  /** Until draft 2019-09 all keywords beside `$ref` are ignored. */
  readonly ignoresBesideRef: boolean;
  /** All schemas of the document, each with the resource that it belongs to. */
  readonly schemas = new Map<JsonObject, SchemaResource>();
  readonly #byUri = new Map<string, SchemaResource>();
  readonly #byRoot = new Map<JsonObject, SchemaResource>();
  readonly #resolved = new Map<SchemaResource, Map<string, SchemaTarget | undefined>>();

  /** `count` is called with the number of schemas that were found, and may throw. */
  constructor(document: JsonObject, count: (schemas: number) => void) {
    const { $schema } = document;
    this.ignoresBesideRef =
      typeof $schema === "string" && /\/json-schema\.org\/draft-0[3-7]\//.test($schema);
    this.document = this.#addResource(document, defaultUri);
    const open: [JsonObject, SchemaResource][] = [[document, this.document]];
    for (let next = open.pop(); next !== undefined; next = open.pop()) {
      const [schema, around] = next;
      if (this.schemas.has(schema)) continue;
      const resource = this.#identify(schema, around);
      this.schemas.set(schema, resource);
      const parts = partsOf(schema);
      count(1 + parts.length);
      for (const part of parts) open.push([part, resource]);
    }
  }

  /** The resource whose root a schema is. */
  resourceAt(schema: JsonObject): SchemaResource | undefined {
    return this.#byRoot.get(schema);
  }

  /** What a `$ref` in a resource refers to. */
  resolve(reference: string, from: SchemaResource): SchemaTarget | undefined {
    let known = this.#resolved.get(from);
    if (known === undefined) this.#resolved.set(from, (known = new Map()));
    if (!known.has(reference)) known.set(reference, this.#find(reference, from));
    return known.get(reference);
  }

  #find(reference: string, from: SchemaResource): SchemaTarget | undefined {
    const [address, fragment] = divided(reference);
    const start = address === "" ? from : this.#byUri.get(absolute(address, from.uri));
    if (start === undefined) return undefined;
    if (fragment === "") return { schema: start.root, resource: start };
    if (!fragment.startsWith("/")) {
      const schema = start.anchors.get(decoded(fragment));
      return schema && { schema, resource: start };
    }
    let schema: JsonValue | undefined = start.root;
    let resource = start;
    for (const step of fragment.slice(1).split("/")) {
      const key = decoded(step).replaceAll("~1", "/").replaceAll("~0", "~");
      if (Array.isArray(schema)) schema = schema[Number(key)];
      else schema = isObject(schema) && Object.hasOwn(schema, key) ? schema[key] : undefined;
      if (isObject(schema)) resource = this.#byRoot.get(schema) ?? resource;
    }
    return schema === undefined ? undefined : { schema, resource };
  }

  /** Notes the addresses of a schema, and returns the resource it belongs to. */
  #identify(schema: JsonObject, around: SchemaResource): SchemaResource {
    const { $ref, $id, $anchor, $dynamicAnchor, $recursiveAnchor } = schema;
    if (this.ignoresBesideRef && typeof $ref === "string") return around;
    let resource = around;
    if (typeof $id === "string") {
      const [address, fragment] = divided($id);
      if (address !== "") resource = this.#addResource(schema, absolute(address, around.uri));
      else if (fragment !== "") addFirst(around.anchors, fragment, schema); // draft 7
    }
    if (typeof $anchor === "string") addFirst(resource.anchors, $anchor, schema);
    if (typeof $dynamicAnchor === "string") {
      addFirst(resource.anchors, $dynamicAnchor, schema);
      addFirst(resource.dynamicAnchors, $dynamicAnchor, schema);
    }
    if ($recursiveAnchor === true && resource.root === schema)
      addFirst(resource.dynamicAnchors, "", schema);
    return resource;
  }

  #addResource(root: JsonObject, uri: string): SchemaResource {
    const resource = { uri, root, anchors: new Map(), dynamicAnchors: new Map() };
    addFirst(this.#byUri, uri, resource);
    this.#byRoot.set(root, resource);
    return resource;
  }
}

/** Of a document without `$id`. */
const defaultUri = "https://schema.invalid/";

/** Keywords whose value is a schema or a list of schemas, and those with schemas by name. */
const withSchemas = new Set([
  ..."additionalItems additionalProperties contains contentSchema else if items not".split(" "),
  ..."propertyNames then unevaluatedItems unevaluatedProperties".split(" "),
  ..."allOf anyOf oneOf prefixItems".split(" "),
]);
const withNames = new Set(
  "$defs definitions dependentSchemas dependencies patternProperties properties".split(" "),
);

function partsOf(schema: JsonObject): JsonObject[] {
  return Object.entries(schema).flatMap(([keyword, value]) => {
    if (typeof value !== "object" || value === null) return [];
    if (withSchemas.has(keyword)) return (Array.isArray(value) ? value : [value]).filter(isObject);
    return withNames.has(keyword) ? Object.values(value).filter(isObject) : [];
  });
}

function addFirst<K, V>(map: Map<K, V>, key: K, value: V): void {
  if (!map.has(key)) map.set(key, value);
}

function divided(reference: string): [address: string, fragment: string] {
  const hash = reference.indexOf("#");
  return hash === -1 ? [reference, ""] : [reference.slice(0, hash), reference.slice(hash + 1)];
}

function absolute(address: string, base: string): string {
  return URL.parse(address, base)?.href ?? address;
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text; // not percent-encoded, then
  }
}
