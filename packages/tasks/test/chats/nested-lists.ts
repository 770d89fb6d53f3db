import type { Chat, ChatEdit, RefusalCode } from "@deltawire/tasks/chats";

/*
 * A chat as anybody would draw it: lists in lists, changed in place. It knows nothing of how the real one is kept, and is
 * what the real one is compared with.
 */

export interface Drawn {
  id: string;
  kind: "user" | "answer" | "separator";
  pinned: boolean;
  hidden: boolean;
  versions: { id: string; status: string; continues: string | undefined }[];
  shown: string | undefined;
  under: Drawn[];
  /** The id of the one on the path. */
  on: string | undefined;
}

/** Where a list of nodes hangs: under a node, or under nothing. */
export type Place = Pick<Drawn, "under" | "on">;

export interface Drawing extends Place {
  bookmarks: string[];
  title: string;
  titleBy: string;
  tags: string[];
  pinned: boolean;
  settings: Record<string, unknown>;
}

export function drawn(chat: Chat): Drawing {
  const draw = (id: string): Drawn => {
    const node = Object.getOwnPropertyDescriptor(chat.nodes, id)?.value as Chat["nodes"][string];
    const versions = node.kind === "separator" ? [] : node.versions;
    return {
      id,
      kind: node.kind,
      pinned: node.pinned,
      hidden: node.hidden,
      versions: versions.map((version) => ({
        id: version.version_id,
        status: "status" in version ? version.status : "",
        continues: "continues" in version ? version.continues : undefined,
      })),
      shown: node.kind === "separator" ? undefined : node.version,
      under: node.children.map(draw),
      on: own(chat.chosen, id),
    };
  };
  return {
    under: chat.roots.map(draw),
    on: own(chat.chosen, ""),
    bookmarks: [...chat.bookmarks],
    title: chat.title,
    titleBy: chat.title_by,
    tags: [...chat.tags],
    pinned: chat.pinned,
    settings: { ...chat.settings },
  };
}

function own(record: Readonly<Record<string, string>>, key: string): string | undefined {
  return Object.getOwnPropertyDescriptor(record, key)?.value as string | undefined;
}

export function all(place: Place): Drawn[] {
  return place.under.flatMap((node) => [node, ...all(node)]);
}

/** Of a node that is there. */
export function find(drawing: Drawing, id: string): Drawn {
  return all(drawing).find((one) => one.id === id) as Drawn;
}

export function placeOf(drawing: Drawing, node: Drawn): Place {
  return [drawing, ...all(drawing)].find(({ under }) => under.includes(node)) as Place;
}

/** Why an edit has to be refused. */
export function refusalOf(drawing: Drawing, edit: ChatEdit): RefusalCode | undefined {
  const id = "node_id" in edit ? edit.node_id : "parent" in edit ? edit.parent : undefined;
  const target = id ?? ("after" in edit ? edit.after : undefined);
  const node = all(drawing).find((one) => one.id === target);
  if (target !== undefined && node === undefined) return "unknown_node";
  const version =
    "version_id" in edit ? node?.versions.find((one) => one.id === edit.version_id) : undefined;
  const next = node?.under.find((one) => one.id === node.on);
  switch (edit.type) {
    case "rename":
      return edit.title === "" ? "bad_value" : undefined;
    case "tag":
      return new Set(edit.tags).size < edit.tags.length ? "bad_value" : undefined;
    case "settings":
      return (edit.patch.turns ?? 0) < 0 ? "bad_value" : undefined;
    case "title_by_model":
      return drawing.titleBy === "nobody" ? undefined : "illegal_place";
    case "add_message":
      return node && runs(node) ? "still_running" : undefined;
    case "add_answer":
      return node?.kind === "user" ? undefined : "illegal_place";
    case "insert_answer":
      return node?.kind === "user" && next?.kind !== "answer" ? undefined : "illegal_place";
    case "add_separator":
      if (node && runs(node)) return "still_running";
      return next?.kind === "answer" ? "illegal_place" : undefined;
    case "add_message_version":
      return node?.kind === "user" ? undefined : "illegal_place";
    case "add_answer_version": {
      if (node?.kind !== "answer") return "illegal_place";
      if (runs(node)) return "still_running";
      const { continues } = edit.answer;
      const known = node.versions.some((one) => one.id === continues);
      return continues === undefined || known ? undefined : "unknown_version";
    }
    case "pin":
    case "hide":
      return node?.kind === "separator" ? "illegal_place" : undefined;
    case "choose_version":
      if (node?.kind === "separator") return "illegal_place";
      return version ? undefined : "unknown_version";
    case "delete_version":
      if (node?.kind === "separator") return "illegal_place";
      if (version === undefined) return "unknown_version";
      if (version.status === "running") return "still_running";
      if (node?.versions.length === 1) return "only_version";
      return node?.versions.some((one) => one.continues === version.id) ? "in_use" : undefined;
    case "finish_answer":
    case "answer_waits":
      if (node?.kind !== "answer") return "illegal_place";
      if (version === undefined) return "unknown_version";
      return version.status === "running" ? undefined : "illegal_place";
    case "delete_node": {
      if (node === undefined) return "unknown_node";
      if (edit.children === "delete")
        return [node, ...all(node)].some(runs) ? "still_running" : undefined;
      if (runs(node)) return "still_running";
      if (node.under.some(({ kind }) => kind === "answer")) return "illegal_place";
      const first = drawing.under.includes(node);
      return first && node.under.some(({ kind }) => kind === "separator")
        ? "illegal_place"
        : undefined;
    }
    default:
      return undefined;
  }
}

/** Why a part cannot be a chat of its own. */
export function extractRefusal(drawing: Drawing, id: string): RefusalCode | undefined {
  const node = all(drawing).find((one) => one.id === id);
  if (node === undefined) return "unknown_node";
  if (node.kind !== "user") return "illegal_place";
  return [node, ...all(node)].some(runs) ? "still_running" : undefined;
}

/** A part as a chat of its own. */
export function extracted(drawing: Drawing, id: string): Drawing {
  const node = all(drawing).filter((one) => one.id === id);
  const ids = new Set([...node, ...node.flatMap(all)].map((one) => one.id));
  const bookmarks = drawing.bookmarks.filter((one) => ids.has(one));
  return { ...drawing, under: node, on: id, bookmarks, pinned: false };
}

function runs(node: Drawn): boolean {
  return node.versions.some(({ status }) => status === "running");
}

/** Makes an edit that is not refused; the ids of what it adds are told. */
export function draw(drawing: Drawing, edit: ChatEdit, nodeId = "", versionId = ""): void {
  const choose = (node: Drawn): void => {
    const place = placeOf(drawing, node);
    place.on = node.id;
    if (place !== drawing) choose(place as Drawn);
  };
  const fresh = (kind: Drawn["kind"], status = ""): Drawn => ({
    id: nodeId,
    kind,
    pinned: false,
    hidden: false,
    versions: kind === "separator" ? [] : [{ id: versionId, status, continues: undefined }],
    shown: kind === "separator" ? undefined : versionId,
    under: [],
    on: undefined,
  });
  const insert = (above: Drawn, node: Drawn): void => {
    const at = above.under.findIndex((one) => one.id === above.on);
    const taken = at === -1 ? [] : above.under.splice(at, 1);
    node.under = taken;
    node.on = taken[0]?.id;
    above.under.splice(at === -1 ? above.under.length : at, 0, node);
    above.on = node.id;
  };
  switch (edit.type) {
    case "rename":
    case "title_by_model":
      drawing.title = edit.title;
      drawing.titleBy = edit.type === "rename" ? "user" : "model";
      return;
    case "tag":
      drawing.tags = [...edit.tags];
      return;
    case "pin_chat":
      drawing.pinned = edit.value;
      return;
    case "settings":
      for (const [name, value] of Object.entries(edit.patch))
        if (value === null) delete drawing.settings[name];
        else drawing.settings[name] = value;
      return;
    case "add_message":
    case "add_answer": {
      const place = edit.parent === null ? drawing : find(drawing, edit.parent);
      const node =
        edit.type === "add_message" ? fresh("user") : fresh("answer", edit.answer.status);
      place.under.push(node);
      return choose(node);
    }
    case "insert_answer":
      return insert(find(drawing, edit.after), fresh("answer", edit.answer.status));
    case "add_separator":
      return insert(find(drawing, edit.after), fresh("separator"));
    case "add_message_version":
    case "add_answer_version": {
      const node = find(drawing, edit.node_id);
      const { status, continues } =
        edit.type === "add_answer_version" ? edit.answer : { status: "", continues: undefined };
      node.versions.push({ id: versionId, status, continues });
      node.shown = versionId;
      return;
    }
    case "choose_branch":
      return choose(find(drawing, edit.node_id));
    case "choose_version":
      find(drawing, edit.node_id).shown = edit.version_id;
      return;
    case "pin":
      find(drawing, edit.node_id).pinned = edit.value;
      return;
    case "hide":
      find(drawing, edit.node_id).hidden = edit.value;
      return;
    case "bookmark":
      if (drawing.bookmarks.includes(edit.node_id) === edit.value) return;
      if (edit.value) drawing.bookmarks.push(edit.node_id);
      else drawing.bookmarks.splice(drawing.bookmarks.indexOf(edit.node_id), 1);
      return;
    case "finish_answer": {
      const version = find(drawing, edit.node_id).versions.find(({ id }) => id === edit.version_id);
      if (version) version.status = edit.end.status;
      return;
    }
    case "delete_version": {
      const node = find(drawing, edit.node_id);
      const at = node.versions.findIndex(({ id }) => id === edit.version_id);
      node.versions.splice(at, 1);
      if (node.shown === edit.version_id) node.shown = node.versions[Math.max(0, at - 1)]?.id;
      return;
    }
    case "delete_node": {
      const node = find(drawing, edit.node_id);
      const place = placeOf(drawing, node);
      const at = place.under.indexOf(node);
      const kept = edit.children === "keep" ? node.under : [];
      const gone = new Set([node, ...(edit.children === "keep" ? [] : all(node))]);
      drawing.bookmarks = drawing.bookmarks.filter((id) => ![...gone].some((one) => one.id === id));
      place.under.splice(at, 1, ...kept);
      if (place.on === node.id)
        place.on = kept.length > 0 ? node.on : place.under[Math.max(0, at - 1)]?.id;
      return;
    }
    default:
  }
}
