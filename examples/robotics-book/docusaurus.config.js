// The sample book is an ordinary Docusaurus 3 site: `npm install && npm start` serves it, and Quoth reads the same files.
// @ts-check

/** @type {import('@docusaurus/types').Config} */
const config = {
  title: 'Physical AI in Practice',
  tagline: 'From a first ROS 2 node to a robot that follows spoken instructions',
  url: 'https://book.example.com',
  baseUrl: '/',
  onBrokenLinks: 'throw',
  i18n: {defaultLocale: 'en', locales: ['en']},
  // `.md` files are plain CommonMark, `.mdx` files may hold JSX.
  markdown: {format: 'detect'},
  presets: [
    [
      'classic',
      /** @type {import('@docusaurus/preset-classic').Options} */
      ({
        docs: {
          path: 'docs',
          routeBasePath: '/docs',
          sidebarPath: './sidebars.js',
        },
        blog: false,
      }),
    ],
  ],
  themeConfig: {
    navbar: {
      title: 'Physical AI in Practice',
      items: [{type: 'docSidebar', sidebarId: 'book', position: 'left', label: 'Read'}],
    },
    prism: {additionalLanguages: ['bash', 'cpp', 'json', 'yaml']},
  },
};

export default config;
