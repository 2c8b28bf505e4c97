// Code → pieces with a kind, for the languages of technical books. In: the text and the language's name. Out: a list of
// [kind, text] whose texts are the whole code in order; for an unknown language, one piece without a kind.

/** @typedef {{comment?: string, string?: string, words?: string, more?: [string, string][], loose?: boolean}} Language */

const STRINGS = "\"(?:\\\\.|[^\"\\\\\\n])*\"|'(?:\\\\.|[^'\\\\\\n])*'";
const SLASHES = "//[^\\n]*|/\\*[\\s\\S]*?(?:\\*/|$)";
const HASH = "#[^\\n]*";

const C_WORDS = "if else for while do switch case default break continue return struct union enum typedef const static void int char float double bool long short unsigned signed sizeof goto extern inline auto true false null NULL nullptr";
/** @type {Record<string, Language>} */
const LANGUAGES = {
  python: {
    comment: HASH,
    string: `[rbfuRBFU]{0,2}(?:"""[\\s\\S]*?(?:"""|$)|'''[\\s\\S]*?(?:'''|$)|${STRINGS})`,
    words: "and as assert async await break case class continue def del elif else except finally for from global if import in is lambda match nonlocal not or pass raise return self try while with yield True False None",
    more: [["name", "@[\\w.]+"]],
  },
  javascript: {
    comment: SLASHES,
    string: `${STRINGS}|\`(?:\\\\.|[^\`\\\\])*\``,
    words: "abstract as async await break case catch class const continue debugger default delete do else enum export extends false finally for from function get if implements import in instanceof interface let new null of private public readonly return set static super switch this throw true try type typeof undefined var void while yield",
  },
  c: { comment: SLASHES, string: STRINGS, words: C_WORDS, more: [["name", "^[ \\t]*#[ \\t]*\\w+"]] },
  cpp: { comment: SLASHES, string: STRINGS, words: `${C_WORDS} class public private protected virtual override final namespace using template typename new delete this try catch throw constexpr noexcept friend operator explicit mutable decltype static_cast`, more: [["name", "^[ \\t]*#[ \\t]*\\w+"]] },
  java: { comment: SLASHES, string: STRINGS, words: `${C_WORDS} class public private protected interface extends implements new this super try catch throw throws finally import package abstract final var boolean byte record sealed val fun when object` },
  go: { comment: SLASHES, string: `${STRINGS}|\`[^\`]*\``, words: "break case chan const continue default defer else fallthrough for func go goto if import interface map package range return select struct switch type var true false nil string int error bool" },
  rust: { comment: SLASHES, string: "\"(?:\\\\.|[^\"\\\\])*\"|'(?:\\\\.|[^'\\\\])'", words: "as async await break const continue crate dyn else enum extern false fn for if impl in let loop match mod move mut pub ref return self Self static struct super trait true type unsafe use where while", more: [["name", "#!?\\[[^\\]]{0,200}\\]|(?<!\\w)\\w{1,60}!"]] },
  bash: { comment: "(?<![\\w$])#[^\\n]*", string: STRINGS, words: "if then else elif fi for while until do done case esac in function return export local source sudo echo cd", more: [["name", "\\$\\{?[\\w@#?*]+\\}?"], ["word", "(?<=\\s)--?[A-Za-z][\\w-]*"]] },
  yaml: { comment: "(?<![\\w:])#[^\\n]*", string: STRINGS, words: "true false null yes no on off", more: [["name", "^[ \\t-]{0,80}[\\w./-]{1,80}(?=:(?:\\s|$))"]] },
  toml: { comment: "[#;][^\\n]*", string: STRINGS, words: "true false", more: [["word", "^[ \\t]*\\[[^\\]\\n]*\\]"], ["name", "^[ \\t]*[\\w.-]+(?=\\s{0,20}=)"]] },
  json: { comment: SLASHES, string: STRINGS, words: "true false null" },
  xml: { comment: "<!--[\\s\\S]*?(?:-->|$)", string: STRINGS, words: "", more: [["word", "</?[\\w:.-]{1,60}|/?>"], ["name", "(?<![\\w:.-])[\\w:.-]{1,60}(?==)"]] },
  css: { comment: SLASHES, string: STRINGS, words: "", more: [["name", "(?<![\\w-])[\\w-]{1,60}(?=\\s{0,4}:)"], ["word", "[.#@][\\w-]+"]] },
  sql: { comment: "--[^\\n]*|/\\*[\\s\\S]*?(?:\\*/|$)", string: STRINGS, loose: true, words: "select from where and or not insert into values update set delete create table index view drop alter add primary key foreign references join left right inner outer on group by order having limit offset as distinct null is in like between union all case when then else end with returning default" },
  cmake: { comment: HASH, string: STRINGS, words: "", more: [["word", "(?<!\\w)\\w{1,60}(?=\\s{0,4}\\()"], ["name", "\\$\\{[^}\\n]{0,100}\\}"]] },
  dockerfile: { comment: HASH, string: STRINGS, words: "FROM RUN CMD LABEL EXPOSE ENV ADD COPY ENTRYPOINT VOLUME USER WORKDIR ARG HEALTHCHECK SHELL AS" },
  lua: { comment: "--[^\\n]*", string: STRINGS, words: "and break do else elseif end false for function if in local nil not or repeat return then true until while" },
  diff: { more: [["gone", "^-[^\\n]*"], ["new", "^\\+[^\\n]*"], ["word", "^@@[^\\n]*"]] },
};

const ALIASES =
  "py python python3 python pycon python ipython python js javascript jsx javascript ts javascript tsx javascript typescript javascript mjs javascript h c hpp cpp cc cpp c++ cpp cxx cpp csharp java cs java kotlin java swift java sh bash shell bash zsh bash console bash shell-session bash yml yaml ini toml cfg toml conf toml properties toml json5 json jsonc json html xml svg xml urdf xml xacro xml sdf xml launch xml vue xml rs rust golang go docker dockerfile makefile bash make bash scss css postgresql sql";
const names = new Map();
ALIASES.split(" ").forEach((name, at, all) => at % 2 || names.set(name, all[at + 1]));

const MOST = 20000; // characters; longer code is not coloured

/** @type {Map<string, RegExp>} */
const patterns = new Map();

/** @param {string} name @returns {RegExp | null} */
function pattern(name) {
  const known = names.get(name) ?? name;
  if (!Object.hasOwn(LANGUAGES, known)) return null;
  if (!patterns.has(known)) patterns.set(known, compiled(/** @type {Language} */ (LANGUAGES[known])));
  return patterns.get(known) ?? null;
}

/** @param {Language} language */
function compiled({ comment, string, words, more = [], loose = false }) {
  const parts = [
    comment && `(?<comment>${comment})`,
    ...more.filter(([, form]) => form.startsWith("^")).map(([kind, form], at) => `(?<${kind}_${at}>${form})`),
    string && `(?<string>${string})`,
    ...more.filter(([, form]) => !form.startsWith("^")).map(([kind, form], at) => `(?<${kind}_x${at}>${form})`),
    words && `(?<word>(?<![\\w.-])(?:${words.split(" ").join("|")})(?![\\w-]))`,
    (comment || words) && "(?<number>(?<![\\w.])(?:0[xX][\\da-fA-F]+|\\d[\\d_]*(?:\\.\\d+)?(?:[eE][+-]?\\d+)?)(?!\\w))",
    words && !loose && "(?<call>(?<!\\w)[A-Za-z_]\\w*(?=\\())",
  ];
  return new RegExp(parts.filter(Boolean).join("|"), loose ? "gim" : "gm");
}

/** @param {string} text @param {string | null | undefined} language @returns {[string, string][]} */
export function pieces(text, language) {
  const form = text.length > MOST ? null : pattern((language ?? "").toLowerCase());
  if (!form) return [["", text]];
  /** @type {[string, string][]} */
  const out = [];
  let at = 0;
  for (const found of text.matchAll(form)) {
    if (!found[0]) continue;
    const kind = Object.entries(found.groups ?? {}).find(([, value]) => value !== undefined)?.[0] ?? "";
    if (found.index > at) out.push(["", text.slice(at, found.index)]);
    out.push([kind.replace(/_x?\d+$/, ""), found[0]]);
    at = found.index + found[0].length;
  }
  if (at < text.length) out.push(["", text.slice(at)]);
  return out;
}
