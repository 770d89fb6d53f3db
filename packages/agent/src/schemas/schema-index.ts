import { isObject, type JsonObject, type JsonValue } from "@deltawire/wire";

/** A schema with its own URI: the document, or a part of it with `$id`. */
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

/** Resolves references within a schema document. Never fetches other documents. */
export class SchemaIndex {
  readonly document: SchemaResource;
  /** True before draft 2019-09: keywords next to `$ref` are ignored. */
  readonly ignoresRefSiblings: boolean;
  /** All schemas of the document, with the resource to which each belongs. */
  readonly schemas = new Map<JsonObject, SchemaResource>();
  readonly #byUri = new Map<string, SchemaResource>();
  readonly #byRoot = new Map<JsonObject, SchemaResource>();
  readonly #resolved = new Map<SchemaResource, Map<string, SchemaTarget | undefined>>();

  /** `countSchemas` is called with the number of schemas found, and may throw. */
  constructor(document: JsonObject, countSchemas: (count: number) => void) {
    const { $schema } = document;
    this.ignoresRefSiblings =
      typeof $schema === "string" && /\/json-schema\.org\/draft-0[3-7]\//.test($schema);
    this.document = this.#addResource(document, defaultUri);
    const stack: [JsonObject, SchemaResource][] = [[document, this.document]];
    for (let next = stack.pop(); next !== undefined; next = stack.pop()) {
      const [schema, outerResource] = next;
      if (this.schemas.has(schema)) continue;
      const resource = this.#registerAnchors(schema, outerResource);
      this.schemas.set(schema, resource);
      const parts = listSubschemas(schema);
      countSchemas(1 + parts.length);
      for (const part of parts) stack.push([part, resource]);
    }
  }

  /** Returns the resource of which a schema is the root. */
  getResource(schema: JsonObject): SchemaResource | undefined {
    return this.#byRoot.get(schema);
  }

  /** Returns the target of a `$ref` in the resource `base`. */
  resolve(reference: string, base: SchemaResource): SchemaTarget | undefined {
    let resolvedTargets = this.#resolved.get(base);
    if (resolvedTargets === undefined) this.#resolved.set(base, (resolvedTargets = new Map()));
    if (!resolvedTargets.has(reference))
      resolvedTargets.set(reference, this.#findTarget(reference, base));
    return resolvedTargets.get(reference);
  }

  #findTarget(reference: string, base: SchemaResource): SchemaTarget | undefined {
    const [address, fragment] = splitFragment(reference);
    const targetResource = address === "" ? base : this.#byUri.get(resolveUri(address, base.uri));
    if (targetResource === undefined) return undefined;
    if (fragment === "") return { schema: targetResource.root, resource: targetResource };
    if (!fragment.startsWith("/")) {
      const schema = targetResource.anchors.get(decodeFragment(fragment));
      return schema && { schema, resource: targetResource };
    }
    let schema: JsonValue | undefined = targetResource.root;
    let resource = targetResource;
    for (const step of fragment.slice(1).split("/")) {
      const key = decodeFragment(step).replaceAll("~1", "/").replaceAll("~0", "~");
      if (Array.isArray(schema)) schema = schema[Number(key)];
      else schema = isObject(schema) && Object.hasOwn(schema, key) ? schema[key] : undefined;
      if (isObject(schema)) resource = this.#byRoot.get(schema) ?? resource;
    }
    return schema === undefined ? undefined : { schema, resource };
  }

  /** Registers the id and anchors of a schema, and returns the resource to which it belongs. */
  #registerAnchors(schema: JsonObject, outerResource: SchemaResource): SchemaResource {
    const { $ref, $id, $anchor, $dynamicAnchor, $recursiveAnchor } = schema;
    if (this.ignoresRefSiblings && typeof $ref === "string") return outerResource;
    let resource = outerResource;
    if (typeof $id === "string") {
      const [address, fragment] = splitFragment($id);
      if (address !== "")
        resource = this.#addResource(schema, resolveUri(address, outerResource.uri));
      else if (fragment !== "") setIfAbsent(outerResource.anchors, fragment, schema); // draft 7
    }
    if (typeof $anchor === "string") setIfAbsent(resource.anchors, $anchor, schema);
    if (typeof $dynamicAnchor === "string") {
      setIfAbsent(resource.anchors, $dynamicAnchor, schema);
      setIfAbsent(resource.dynamicAnchors, $dynamicAnchor, schema);
    }
    if ($recursiveAnchor === true && resource.root === schema)
      setIfAbsent(resource.dynamicAnchors, "", schema);
    return resource;
  }

  #addResource(root: JsonObject, uri: string): SchemaResource {
    const resource = { uri, root, anchors: new Map(), dynamicAnchors: new Map() };
    setIfAbsent(this.#byUri, uri, resource);
    this.#byRoot.set(root, resource);
    return resource;
  }
}

/** URI of a document without `$id`. */
const defaultUri = "https://schema.invalid/";

/** Keywords whose value is a schema or a list of schemas, then those with schemas by name. */
const subschemaKeywords = new Set([
  ..."additionalItems additionalProperties contains contentSchema else if items not".split(" "),
  ..."propertyNames then unevaluatedItems unevaluatedProperties".split(" "),
  ..."allOf anyOf oneOf prefixItems".split(" "),
]);
const namedSubschemaKeywords = new Set(
  "$defs definitions dependentSchemas dependencies patternProperties properties".split(" "),
);

function listSubschemas(schema: JsonObject): JsonObject[] {
  return Object.entries(schema).flatMap(([keyword, value]) => {
    if (typeof value !== "object" || value === null) return [];
    if (subschemaKeywords.has(keyword))
      return (Array.isArray(value) ? value : [value]).filter(isObject);
    return namedSubschemaKeywords.has(keyword) ? Object.values(value).filter(isObject) : [];
  });
}

function setIfAbsent<K, V>(map: Map<K, V>, key: K, value: V): void {
  if (!map.has(key)) map.set(key, value);
}

function splitFragment(reference: string): [address: string, fragment: string] {
  const hash = reference.indexOf("#");
  return hash === -1 ? [reference, ""] : [reference.slice(0, hash), reference.slice(hash + 1)];
}

function resolveUri(address: string, base: string): string {
  return URL.parse(address, base)?.href ?? address;
}

function decodeFragment(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text; // not valid percent-encoding
  }
}
