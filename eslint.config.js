// Lints the JavaScript of the page and the widget, and its tests. Types are checked by tsc (tsconfig.json).

import js from "@eslint/js";
import globals from "globals";

const rules = {
  ...js.configs.recommended.rules,
  curly: ["error", "multi-line"],
  eqeqeq: "error",
  "no-constant-condition": ["error", { checkLoops: false }],
  "no-empty": ["error", { allowEmptyCatch: false }],
  "no-eval": "error",
  "no-implied-eval": "error",
  "no-new-func": "error",
  "no-var": "error",
  "object-shorthand": "error",
  "prefer-const": ["error", { destructuring: "all" }],
  "prefer-template": "error",
  "max-lines": ["error", 400],
  "max-lines-per-function": ["error", 50],
  complexity: ["error", 25], // it counts ?? and ?. too,
  "no-unused-vars": ["error", { varsIgnorePattern: "^_", argsIgnorePattern: "^_" }],
};

// Texts of a book become nodes, never markup (tests/web): nothing may parse them.
const markup = ["innerHTML", "outerHTML", "insertAdjacentHTML", "setHTMLUnsafe", "createContextualFragment", "parseFromString", "write", "writeln"];
const noMarkup = markup.map((name) => ({
  selector: `MemberExpression[property.name='${name}']`,
  message: "A text is never parsed as HTML: build nodes with element().",
}));

// What readers see is in texts/, in every language.
const spoken = {
  selector: "Literal[value=/^[A-Z][a-z’]+( [\\w’…,.]+)+[.…?!]?$/]",
  message: "Interface texts are in src/quoth/web/texts/.",
};

export default [
  { ignores: ["**/.venv*/", ".sites/", "build/", "dist/", "examples/"] },
  {
    files: ["src/quoth/web/**/*.js"],
    languageOptions: { ecmaVersion: 2024, sourceType: "module", globals: globals.browser },
    linterOptions: { reportUnusedDisableDirectives: "error" },
    rules: { ...rules, "no-restricted-syntax": ["error", ...noMarkup, spoken], "no-console": "error" },
  },
  { files: ["src/quoth/web/texts/??.js", "src/quoth/web/texts/page/??.js"], rules: { "no-restricted-syntax": "off", "max-lines-per-function": "off" } },
  { files: ["src/quoth/web/widget.js"], languageOptions: { sourceType: "script" }, rules: { "max-lines-per-function": "off" } },
  {
    files: ["tests/web/unit/*.js", "eslint.config.js"],
    languageOptions: { ecmaVersion: 2024, sourceType: "module", globals: globals.node },
    rules: { ...rules, "max-lines-per-function": "off" },
  },
];
